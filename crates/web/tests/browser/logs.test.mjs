// Logs: opening, uploading, dropping, zooming, overlaying.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { classic, drag, inLegend, iso, legend, legendIs, legendThat, plotBox, rangeAfter, scratch, serve, tacho, test, withPage } from "./harness.mjs";
import { recordedLog, textLog } from "./logs.mjs";

const stats = async (log, ...bounds) => JSON.parse(await tacho("stats", log, ...bounds, "-f", "json"));
const statsOf = (log, range) => stats(log, ...(range ? ["-b", iso(range.begin), "-e", iso(range.end)] : []));

test("logs: an uploaded BLG, zoomed by dragging, has the figures of tacho stats", async () => {
  const log = await recordedLog();
  const server = await serve();
  await withPage("upload", classic(server), async (page) => {
    await page.setInputFiles("#file-field", log);
    await page.waitForFunction(() => document.getElementById("source-names").textContent === "recorded.blg");
    // Add all counters of the log by typed paths.
    await page.keyboard.press("a");
    for (const expected of ["\\Processor Information(*)\\% Processor Time", "\\Memory\\Available Bytes", "\\System\\Context Switches/sec"]) {
      await page.fill("#path-field", expected);
      await page.press("#path-field", "Enter");
    }
    await page.click("#tree-close");
    const whole = await statsOf(log);
    await legendThat(page, (rows) => rows.length === whole.length && rows.every((row) => row.average !== "---"), "all counters of the log");
    await legendIs(page, whole);

    await drag(page, 0.25, 0.75);
    const range = await rangeAfter(page, null);
    assert.ok(range.end - range.begin > 2000 && range.end - range.begin < 4000, JSON.stringify(range));
    await legendIs(page, await statsOf(log, range));

    // Zoom in by key, then back and forward.
    await page.keyboard.press("+");
    const closer = await rangeAfter(page, range);
    assert.ok(Math.abs(closer.end - closer.begin - (range.end - range.begin) / 2) < 5);
    await legendIs(page, await statsOf(log, closer));
    await page.keyboard.press("[");
    assert.deepEqual(await rangeAfter(page, closer), range);
    await page.keyboard.press("]");
    assert.deepEqual(await rangeAfter(page, range), closer);
    await page.keyboard.press("ArrowRight");
    const moved = await rangeAfter(page, closer);
    assert.ok(moved.begin > closer.begin && Math.abs(moved.end - moved.begin - (closer.end - closer.begin)) <= 1);
    await page.keyboard.press("0");
    assert.equal(await rangeAfter(page, moved), null);
    await legendIs(page, whole);
  });
  await server.stop();
});

test("logs: the last sample belongs to a range up to the end", async () => {
  const log = await recordedLog();
  const server = await serve(log);
  const paths = ["\\Processor Information(*)\\% Processor Time", "\\Memory\\Available Bytes", "\\System\\Context Switches/sec"];
  await withPage("to-the-end", `${server.url}#${new URLSearchParams(paths.map((path) => ["path", path]))}`, async (page) => {
    const whole = await stats(log);
    await legendThat(page, (rows) => rows.length === whole.length, "all counters of the log");
    await legendIs(page, whole);
    // The displayed range as arguments of the command, in the log's local time.
    const typed = async () => {
      const [, begin, end] = /, (\S+ \S+) – (\S+ \S+) \(/.exec(await page.textContent("#range-text"));
      return ["-b", begin, "-e", end];
    };
    assert.deepEqual(await stats(log, ...(await typed())), whole);

    await drag(page, 0.5, 1);
    const half = await rangeAfter(page, null);
    const expected = await stats(log, "-b", iso(half.begin));
    await legendIs(page, expected);
    assert.deepEqual(await stats(log, ...(await typed())), expected);
    await drag(page, 0, 0.5);
    const left = await rangeAfter(page, half);
    // Move back to the end.
    for (let step = 0; step < 6; step += 1) await page.keyboard.press("ArrowRight");
    await page.waitForFunction((end) => document.getElementById("content").dataset.range.endsWith(`~${(end / 1000).toFixed(3)}`), half.end);
    const right = await rangeAfter(page, left);
    await legendIs(page, await stats(log, "-b", iso(right.begin)));
  });
  await server.stop();
});

test("logs: a counter that two paths select can be removed, and added again by either path", async () => {
  const server = await serve(textLog("twice.csv", 60));
  const [all, one] = ["\\Processor Information(*)\\% Processor Time", "\\Processor Information(_Total)\\% Processor Time"];
  const chosen = new URLSearchParams([all, one, "\\System\\Threads"].map((path) => ["path", path]));
  await withPage("twice", `${server.url}#${chosen}`, async (page) => {
    for (const path of [one, all]) {
      await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "both counters");
      await page.click("#legend-body tr:has-text('% Processor Time')");
      await page.keyboard.press("Delete");
      await legendThat(page, (rows) => rows.length === 1, "the other counter");
      await page.keyboard.press("a");
      await page.fill("#path-field", path);
      await page.press("#path-field", "Enter");
      await page.click("#tree-close");
    }
    await legendThat(page, (rows) => rows.length === 2, "both counters");
  });
  await server.stop();
});

test("logs: a link restores the view", async () => {
  const log = textLog("linked.csv", 1200);
  const server = await serve(log);
  let link = "";
  let rows = [];
  await withPage("link-before", classic(server), async (page) => {
    await legendThat(page, (found) => found.length > 0 && found[0].average !== "---", "the log's counters");
    await page.keyboard.press("a");
    await page.fill("#path-field", "\\System\\Threads");
    await page.press("#path-field", "Enter");
    await page.click("#tree-close");
    await legendThat(page, (found) => found.some((row) => row.counter === "Threads" && row.average !== "---"), "Threads");
    await drag(page, 0.2, 0.4);
    const range = await rangeAfter(page, null);
    await page.selectOption("#legend-body tr:has-text('Threads') select", "-1");
    await page.click("#legend-head th[data-column=counter] button");
    await page.click("#legend-head th[data-column=counter] button");
    await page.waitForSelector("#legend-head th[data-column=counter][aria-sort=descending]");
    rows = await legend(page);
    await page.waitForFunction(() => ["line=", "sort=counter%7Edown", "range="].every((part) => location.hash.includes(part)));
    link = page.url();
    // The view is also saved, and its link is copied to the clipboard.
    await page.click("#view-menu > summary");
    await page.fill("#view-field", "threads");
    await page.press("#view-field", "Enter");
    await page.waitForSelector("#view-list button:has-text('threads')");
    await page.click("#copy-link");
    await page.waitForSelector(".message:has-text('clipboard')");
    // The saved view has a name, and is not changed.
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied.replace("name=threads", "changed=1"), link);
    link = copied;
    await page.keyboard.press("0");
    assert.equal(await rangeAfter(page, range), null);
    await page.click("#view-menu > summary");
    await page.click("#view-list button:has-text('threads')");
    await legendThat(page, (found) => JSON.stringify(found) === JSON.stringify(rows), "the rows of the saved view");
  }, { permissions: ["clipboard-read", "clipboard-write"] });
  await withPage("link-after", link, async (page) => {
    await legendThat(page, (found) => JSON.stringify(found) === JSON.stringify(rows), "the rows of the link");
    assert.equal(await page.textContent("#legend-body tr:first-child th"), rows[0].counter);
  });
  await server.stop();
});

test("logs: a file that is dropped onto the page is opened", async () => {
  const log = textLog("dropped.csv", 300);
  const server = await serve();
  await withPage("drop", classic(server), async (page) => {
    const text = fs.readFileSync(log, "utf8");
    const transfer = await page.evaluateHandle((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], "dropped.csv"));
      return data;
    }, text);
    await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
    assert.ok(await page.isVisible("#drop-veil"));
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    assert.ok(!(await page.isVisible("#drop-veil")));
    await page.waitForFunction(() => document.getElementById("source-names").textContent === "dropped.csv");
    await legendThat(page, (found) => found.length > 0 && found[0].average !== "---", "the log's counters");
    const expected = await statsOf(log);
    await legendIs(page, expected, { isOf: inLegend });
    // Averages of a text log are marked as arithmetic.
    await page.waitForSelector("#value-arithmetic:not([hidden])");
    await page.waitForSelector("#legend-body td.arithmetic");
  });
  await server.stop();
});

test("logs: an upload can be stopped", async () => {
  const server = await serve();
  await withPage("stopped", classic(server), async (page) => {
    // An upload that never ends.
    await page.route("**/api/upload*", () => {});
    await page.setInputFiles("#file-field", textLog("stopped.csv", 100));
    await page.waitForSelector("#uploads progress");
    await page.click("#uploads button:text-is('Stop')");
    await page.waitForSelector("#uploads progress", { state: "detached" });
    await page.waitForFunction(() => document.getElementById("announcements").textContent.includes("stopped"));
    assert.equal(await page.locator("#source-list .source").count(), 1, "this machine alone");
  });
  await server.stop();
});

test("logs: settings that are changed before the sources are loaded persist", async () => {
  const server = await serve(textLog("first.csv", 50));
  await withPage("early", classic(server), async (page) => {
    let answer;
    const isAsked = new Promise((resolve) => page.route("**/api/sources", (route) => resolve((answer = () => route.fallback()))));
    await Promise.all([isAsked, page.reload({ waitUntil: "commit" })]);
    await page.setInputFiles("#file-field", textLog("early.csv", 60));
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.fill("#path-field", "\\System\\Threads");
    await page.press("#path-field", "Enter");
    await page.waitForTimeout(500);
    await answer();
    await page.waitForFunction(() => document.getElementById("source-names").textContent === "early.csv");
    await legendThat(page, (rows) => rows.some((row) => row.counter === "Threads" && row.average !== "---"), "the counter");
    await page.waitForSelector("#histogram svg .bar");
  });
  await server.stop();
});

test("logs: scales change the chart but not the figures", async () => {
  const log = await recordedLog();
  const server = await serve(log);
  const chosen = new URLSearchParams([["path", "\\Processor Information(_Total)\\% Processor Time"], ["path", "\\Memory\\Available Bytes"]]);
  await withPage("scales", `${server.url}#${chosen}`, async (page) => {
    const rows = await legendThat(page, (found) => found.length === 2 && found.every((row) => row.average !== "---"), "both counters");
    const picture = () => page.evaluate(() => document.querySelector("#chart canvas").toDataURL());
    const before = await picture();
    await page.keyboard.press("*");
    await page.waitForFunction((drawn) => document.querySelector("#chart canvas").toDataURL() !== drawn, before);
    const fit = await legend(page);
    assert.ok(fit.every((row) => row.scale === "fit"));
    assert.deepEqual(fit.map(({ scale, ...row }) => row), rows.map(({ scale, ...row }) => row));
    // For memory in bytes, the scale is the largest power of ten with which the maximum is at most 100.
    const maximum = Number(fit.find((row) => row.counter === "Available Bytes").maximum.replaceAll(",", ""));
    const label = await page.$eval("#legend-body tr:has-text('Available Bytes') select", (list) => list.selectedOptions[0].textContent);
    const power = Math.log10(Number(/^[\d.]+/.exec(label)[0]));
    assert.ok(maximum * 10 ** power <= 100 && maximum * 10 ** (power + 1) > 100, `${label} for ${maximum}`);
  });
  await server.stop();
});

test("logs: two machines are overlaid by time and aligned at their starts", async () => {
  const [one, other] = [textLog("one.csv", 600, { machine: "ALPHA" }), textLog("other.csv", 600, { machine: "BETA", from: 7200 })];
  const server = await serve(one, other);
  await withPage("overlay", classic(server), async (page) => {
    await page.waitForFunction(() => document.getElementById("source-names").textContent.includes(" + "));
    await legendThat(page, (rows) => ["ALPHA", "BETA"].every((machine) => rows.some((row) => row.computer.includes(machine) && row.average !== "---")), "counters of both machines");
    // The logs do not overlap, so they are aligned at their starts.
    await page.waitForFunction(() => /^(9 min 59 s|10 min)$/.test(document.getElementById("value-duration").textContent));
    await page.click("#source-menu summary");
    await page.check("input[name=align][value=absolute]");
    await page.waitForFunction(() => /^2 h (9|10) min/.test(document.getElementById("value-duration").textContent));
    await page.check("input[name=align][value=start]");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => /^(9 min 59 s|10 min)$/.test(document.getElementById("value-duration").textContent));
    // The zoomed range is relative to the start of each log.
    await drag(page, 0.5, 0.75);
    const { begin, end } = await rangeAfter(page, null);
    for (const [log, machine, start] of [[one, "ALPHA", Date.UTC(2024, 2, 5, 10)], [other, "BETA", Date.UTC(2024, 2, 5, 12)]]) {
      const expected = await statsOf(log, { begin: start + begin, end: start + end });
      await legendIs(page, expected, { isOf: inLegend, isRow: (row) => row.computer.includes(machine) });
    }
  });
  await server.stop();
});

test("logs: a log in a folder of the server is opened and closed", async () => {
  const folder = path.join(scratch, "folder");
  fs.mkdirSync(folder, { recursive: true });
  fs.copyFileSync(textLog("inside.csv", 60), path.join(folder, "inside.csv"));
  const server = await serve(folder);
  await withPage("folder", classic(server), async (page) => {
    await page.click("#source-menu summary");
    await page.click("#log-list button:has-text('inside.csv')");
    await page.waitForFunction(() => /inside\.csv$/.test(document.getElementById("source-names").textContent));
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "the log's counters");
    await page.waitForFunction(() => location.hash.includes("inside.csv"));
    // A new page does not show logs that other users have opened.
    await withPage("folder-other", classic(server), async (other) => {
      await other.waitForSelector("#live-state[data-state=live]");
      assert.ok(!(await other.textContent("#source-names")).includes("inside.csv"));
    });
    // After a reload the log can still be closed.
    await page.reload();
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "the log's counters again");
    await page.click("#source-menu summary");
    await page.click("#source-list .source.shown button[aria-label^=Close]");
    await page.click(".question button:text-is('Close for everybody')");
    await page.waitForFunction(() => !document.querySelector("#source-list button[aria-label^=Close]"));
    await page.waitForSelector("#log-list button:has-text('inside.csv')", { state: "attached" });
  });
  await server.stop();
});

test("logs: the box shows the values at the pointer, in the chosen time zone", async () => {
  const log = textLog("hover.csv", 120);
  const server = await serve(log);
  await withPage("hover", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "the log's counters");
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
    await page.waitForSelector("#hover:not([hidden])");
    assert.match(await page.textContent("#hover .hover-time"), /^2024-03-05 10:0[01]:\d\d\.000  ·  hover\.csv$/);
    assert.ok(await page.locator("#hover tr.nearest").count());
    await page.click("summary:text-is('Display')");
    await page.selectOption("#zone-list", "local");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.getElementById("range-text").textContent.includes("2024-03-05 11:00:00"));
    assert.match(await page.textContent("#range-text"), /Europe\/Berlin/);
  });
  await server.stop();
});
