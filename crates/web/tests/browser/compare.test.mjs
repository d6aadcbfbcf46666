// Several logs side by side, and views that move from one log to another.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { legendThat, plotBox, rangeAfter, saved, scratch, serve, tacho, test, withPage } from "./harness.mjs";
import { logOf, panelLink, textLog } from "./logs.mjs";

const USER = "\\Processor(_Total)\\% User Time";
const SYSTEM = "\\Processor(_Total)\\% Privileged Time";

test("compare: for two logs, a stacked panel shows lines with equal colours, and the change", async () => {
  const before = logOf("before.csv", { [USER]: () => 40, [SYSTEM]: () => 20 });
  const after = logOf("after.csv", { [USER]: () => 50, [SYSTEM]: () => 5 }, 60, "WEB2");
  const stacked = { id: 1, title: "All processors", kind: "stacked", unit: "%", min: 0, max: 100, counters: [{ path: USER, label: "user" }, { path: SYSTEM, label: "system" }] };
  const one = await serve(before);
  await withPage("compare-one", `${one.url}#${panelLink(stacked)}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "the log");
    const file = await saved(page, "#save-svg");
    assert.match(fs.readFileSync(file.path, "utf8"), /fill-opacity="0\.55"/);
    assert.equal(file.name, "before - All processors.svg");
    assert.equal(await page.textContent("#chart-title"), "All processors");
    // Columns that do not distinguish the lines are not shown.
    assert.deepEqual(await page.$$eval("#legend-head [data-column]", (all) => all.map(({ dataset }) => dataset.column)), ["show", "colour", "counter", "instance", "set", "average", "last", "minimum", "maximum", "remove"]);
  });
  await one.stop();
  const server = await serve(before, after);
  await withPage("compare-two", `${server.url}#${panelLink(stacked)}`, async (page) => {
    const rows = await legendThat(page, (all) => all.length === 4 && all.every((row) => row.average !== "---"), "both logs");
    const of = (name, counter) => rows.find((row) => row.computer.includes(name) && row.counter === counter);
    assert.deepEqual([of("after", "% User Time").change, of("after", "% Privileged Time").change, of("before", "% User Time").change], ["+25.0 %", "−75.0 %", ""]);
    const styles = await page.$$eval("#legend-body tr", (all) => all.map((row) => [row.title, row.querySelector(".swatch line").getAttribute("stroke"), row.querySelector(".swatch line").getAttribute("stroke-dasharray")]));
    const style = (machine, counter) => styles.find(([title]) => title.includes(machine) && title.includes(counter)).slice(1);
    for (const counter of ["% User Time", "% Privileged Time"]) {
      assert.equal(style("WEB1", counter)[0], style("WEB2", counter)[0], counter);
      assert.notEqual(style("WEB1", counter)[1], style("WEB2", counter)[1], counter);
    }
    assert.notEqual(style("WEB1", "% User Time")[0], style("WEB1", "% Privileged Time")[0]);
    const file = await saved(page, "#save-svg");
    const svg = fs.readFileSync(file.path, "utf8");
    assert.ok(!/fill-opacity="0\.(55|16)"/.test(svg), "no areas");
    assert.equal(file.name, "before+after - All processors.svg");
    // A click on the swatch chooses another colour.
    await page.locator("#legend-body tr[title*=WEB2] .swatch-place").first().click();
    await page.waitForFunction((old) => document.querySelector("#legend-body tr[title*=WEB2] .swatch line").getAttribute("stroke") !== old, style("WEB2", "% User Time")[0]);
  });
  await server.stop();
});

test("compare: panels that users have changed show the alternatives of their counters in another log", async () => {
  const windows = logOf("windows.csv", { [USER]: () => 40, "\\Memory\\Committed Bytes": () => 2 ** 20 });
  const linux = logOf("linux.csv", { "\\Processor Information(_Total)\\% User Time": () => 30, "\\Memory\\Used Bytes": () => 2 ** 21 });
  const server = await serve("--interval", "0.5", windows, linux);
  await withPage("refit", `${server.url}#source=1&open=overview`, async (page) => {
    await page.waitForFunction(() => /All processors/.test(document.getElementById("panels").textContent));
    // A changed view is no longer one of the server's views.
    await page.locator(".panel", { hasText: "All processors" }).first().focus();
    await page.keyboard.press("w");
    await page.waitForFunction(() => /panel=/.test(location.hash));
    const shows = (path) => page.waitForFunction((wanted) => [...document.querySelectorAll(".legend-line")].some(({ title }) => title.includes(wanted)), path);
    await shows(USER);
    for (const [name, path] of [["linux.csv", "\\Memory\\Used Bytes"], ["windows.csv", "\\Memory\\Committed Bytes"], ["linux.csv", "\\Processor Information(_Total)\\% User Time"]]) {
      await page.click("#source-menu summary");
      await page.click(`.source-name:has-text("${name}")`);
      await shows(path);
    }
    assert.equal(await page.textContent("#missing-text"), "");
  });
  await server.stop();
});

test("compare: a saved view has the typed name, and only the first missing paths are listed", async () => {
  const server = await serve(textLog("named.csv", 60));
  const counters = ["A", "B", "C", "D", "E"].map((name) => ({ path: `\\Missing\\${name}` }));
  await withPage("named", `${server.url}#${panelLink({ id: 1, title: "One", counters: [{ path: "\\System\\Threads" }, ...counters] })}`, async (page) => {
    await page.waitForFunction(() => /\\Missing\\C: .*; and 2 more$/.test(document.getElementById("missing-text").textContent));
    await page.click("#view-menu > summary");
    await page.fill("#view-field", "My view");
    await page.click("#view-form button");
    await page.waitForFunction(() => document.getElementById("view-title").textContent === "My view");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    assert.equal(download.suggestedFilename(), "my-view.toml");
    const file = path.join(scratch, "my-view.toml");
    await download.saveAs(file);
    assert.match(fs.readFileSync(file, "utf8"), /^title = 'My view'$/m);
  });
  await server.stop();
});

test("compare: a table shows the share of the time in which each process was present", async () => {
  const always = () => 10;
  // Present in 6 of 60 samples.
  const short = (index) => (index >= 20 && index < 26 ? 90 : "");
  const log = logOf("presence.csv", { "\\Process(always)\\% Processor Time": always, "\\Process(short)\\% Processor Time": short, "\\Process(always)\\Thread Count": always, "\\Process(short)\\Thread Count": short });
  const expected = JSON.parse(await tacho("stats", log, "-f", "json"));
  const server = await serve(log);
  const table = { id: 1, kind: "table", table: { set: "Process", sort: "CPU", columns: [{ title: "CPU", counter: "% Processor Time" }, { title: "THREADS", counter: "Thread Count" }, { title: "Name" }] } };
  await withPage("presence", `${server.url}#${panelLink(table)}`, async (page) => {
    await page.waitForSelector("#report .instances tbody tr:nth-child(2)");
    const heads = await page.$$eval("#report .instances thead th", (all) => all.map(({ textContent }) => textContent.trim()));
    assert.deepEqual(heads, ["CPU", "× PRESENT", "THREADS", "PRESENT %", "Name"]);
    const rows = await page.$$eval("#report .instances tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent)));
    // Averages cover only the time in which a process was present. For sorting, they are multiplied by that time.
    assert.deepEqual(rows.map((row) => row[4]), ["always", "short"]);
    for (const row of rows) assert.equal(row[0], String(expected.find(({ instance, counter }) => instance === row[4] && counter === "% Processor Time").average));
    assert.deepEqual(rows.map((row) => Number(row[3])), [1, 0.1]);
  });
  await server.stop();
});

test("compare: the moment of the largest value is shown on request", async () => {
  const log = logOf("peak.csv", { [USER]: (index) => (index === 37 ? 95 : 20 + (index % 5)), [SYSTEM]: () => 3 });
  const server = await serve(log);
  await withPage("peak", `${server.url}#${panelLink({ id: 1, counters: [{ path: USER }, { path: SYSTEM }] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows[0].maximum === "95.000", "the figures");
    await page.click("#value-when");
    await page.waitForFunction(() => /10:00:37\.000/.test(document.querySelector("#hover:not([hidden])")?.textContent ?? ""));
    assert.match(await page.textContent("#hover"), /95\.0 %/);
    // A click chooses a moment; the Time menu shows what is around it.
    const box = await plotBox(page);
    await page.mouse.click(box.x + (box.width * 37) / 59, box.y + box.height / 2);
    await page.keyboard.press("r");
    await page.click("#time-around:has-text('Around 10:00:3')");
    const { begin, end } = await rangeAfter(page, null);
    assert.ok(begin < Date.UTC(2024, 2, 5, 10, 0, 36) && end > Date.UTC(2024, 2, 5, 10, 0, 38) && end - begin <= 7000, JSON.stringify([begin, end]));
    // The largest value of a part of the log is shown, too.
    await page.keyboard.press("r");
    await page.fill("#from-field", "10:00:40");
    await page.fill("#to-field", "10:00:50");
    await page.press("#to-field", "Enter");
    await legendThat(page, (rows) => rows[0].maximum === "24.000", "the figures of the range");
    await page.keyboard.press("M");
    await page.waitForFunction(() => /10:00:44\.000/.test(document.querySelector("#hover:not([hidden])")?.textContent ?? ""));
  });
  await server.stop();
});
