// The list of what changed between two logs, and adding its counters to panels.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { rangeAfter, scratch, screenshots, serve, tacho, test, withPage } from "./harness.mjs";
import { logOf } from "./logs.mjs";

const counters = (factor) => ({
  "\\Processor(_Total)\\% Processor Time": (index) => 20 * factor + (index % 3),
  "\\Process(app)\\% Processor Time": () => 10 * factor ** 2,
  "\\Process(idle-one)\\% Processor Time": () => 0,
  "\\Process(app)\\Working Set": () => 2 ** 28 * factor,
  "\\Process(app)\\ID Process": () => 77 * factor,
  "\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read": (index) => (index < 30 ? 0.002 : 0.002 * factor ** 3),
  "\\Memory\\Available MBytes": () => 4000 / factor,
});

/** Two logs of the same length on different machines; one more process is in the second one. */
const twoLogs = () => [
  logOf("changes-before.csv", { ...counters(1), "\\Process(old)\\% Processor Time": () => 12 }),
  logOf("changes-after.csv", { ...counters(3), "\\Process(new)\\% Processor Time": () => 45 }, 60, "WEB2"),
];

const rowsOf = (page) => page.$$eval("#compare-body tr", (all) => all.map((row) => ({ path: row.querySelector(".compare-name").dataset.path, before: row.cells[1].dataset.value, after: row.cells[2].dataset.value, change: row.cells[3].textContent })));

/** The list when it has a row for each of these. */
async function listThat(page, expected) {
  const wanted = expected.map((row) => row.path.replace(/^\\\\[^\\]+/, ""));
  await page.waitForFunction((paths) => JSON.stringify([...document.querySelectorAll("#compare-body .compare-name")].map(({ dataset }) => dataset.path)) === JSON.stringify(paths), wanted);
  const rows = await rowsOf(page);
  const text = (value) => (value === null ? "" : String(value));
  assert.deepEqual(rows.map(({ before, after }) => [before, after]), expected.map((row) => [text(row.before), text(row.after)]));
  return rows;
}

test("changes: the list is that of tacho compare, and a click shows a counter of both logs", async () => {
  const [before, after] = twoLogs();
  const expected = JSON.parse(await tacho("compare", before, after, "-f", "json"));
  const server = await serve(before, after);
  await withPage("changes", `${server.url}#open=overview`, async (page) => {
    await page.click("#compare-button");
    const rows = await listThat(page, expected);
    const changeOf = (part) => rows.find((row) => row.path.includes(part)).change;
    assert.equal(changeOf("(app)\\% Processor Time"), "× 9.00");
    assert.equal(changeOf("Available MBytes"), "÷ 3.00");
    assert.equal(changeOf("(idle-one)"), "same");
    assert.equal(changeOf("(new)"), "only after");
    assert.ok(!rows.some((row) => row.path.includes("ID Process")), "identifiers are no changes");

    // A click makes a panel with the counter of both logs; another counter of the same kind joins it.
    const nameOf = (part) => page.locator(`.compare-name[data-path*="${part.replaceAll("\\", "\\\\")}"]`);
    const panels = () => page.$$eval(".panel", (all) => all.length);
    const first = await panels();
    await nameOf("(app)\\% Processor Time").click();
    const panel = page.locator(".panel").first();
    await panel.locator("h2:has-text('Process: % Processor Time')").waitFor();
    await page.waitForFunction(() => document.querySelector(".panel .legend-line:nth-of-type(1)") && document.querySelectorAll(".panel:first-child .legend-line").length === 2);
    assert.deepEqual(await page.$$eval("#headline strong:has(.swatch)", (all) => all.map(({ textContent }) => textContent)), ["changes-before.csv", "changes-after.csv"]);
    assert.equal(await nameOf("(app)\\% Processor Time").getAttribute("aria-pressed"), "true");
    await nameOf("(new)\\% Processor Time").click();
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 3);
    assert.equal(await panels(), first + 1);
    await nameOf("Available MBytes").click();
    await page.waitForFunction((count) => document.querySelectorAll(".panel").length === count, first + 2);
    await page.screenshot({ path: path.join(screenshots, "changes-panels.png") });
    // Another click removes it; a panel without counters is removed.
    await nameOf("Available MBytes").click();
    await page.waitForFunction((count) => document.querySelectorAll(".panel").length === count, first + 1);
    assert.equal(await nameOf("Available MBytes").getAttribute("aria-pressed"), "false");

    // The filter, and another order.
    await page.fill("#compare-filter", "app time");
    await page.waitForFunction(() => document.querySelectorAll("#compare-body tr").length === 1);
    assert.match(await page.textContent("#compare-state"), /^1 of 1 found in /);
    await page.fill("#compare-filter", "");
    await page.selectOption("#compare-sort", "path");
    await listThat(page, JSON.parse(await tacho("compare", before, after, "-f", "json", "--sort", "path")));
    await page.keyboard.press("Escape");
    assert.equal(await page.isVisible("#compare-panel"), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), "compare-button");
  });
  await server.stop();
});

test("changes: processes whose numbers mean others in the second log are compared as sums", async () => {
  const program = path.join(scratch, "renumbered");
  fs.copyFileSync("/bin/sleep", program);
  const record = async (name) => {
    const running = [0, 1].map(() => spawn(program, ["600"], { stdio: "ignore" }));
    const file = path.join(scratch, name);
    await tacho("record", "\\Process(renumbered*)\\ID Process", "\\Process(renumbered*)\\Thread Count", "\\Process(renumbered*)\\Working Set", "-o", file, "-si", "0.2", "-sc", "3");
    for (const one of running) one.kill("SIGKILL");
    await Promise.all(running.map((one) => new Promise((resolve) => (one.exitCode === null && one.signalCode === null ? one.once("exit", resolve) : resolve()))));
    return file;
  };
  const logs = [await record("renumbered-1.blg"), await record("renumbered-2.blg")];
  const expected = JSON.parse(await tacho("compare", ...logs, "-f", "json"));
  assert.deepEqual(expected.map(({ counter, instances_before: before, instances_after: after }) => [counter, before, after]).sort(), [["Thread Count", 2, 2], ["Working Set", 2, 2]]);
  const server = await serve(...logs);
  await withPage("changes-sums", `${server.url}#open=overview`, async (page) => {
    await page.click("#compare-button");
    await listThat(page, expected);
    assert.deepEqual(await page.$$eval("#compare-body .hint", (all) => all.map(({ textContent }) => textContent)), ["Process, sum of instances: 2 before, 2 after", "Process, sum of instances: 2 before, 2 after"]);
    // A click shows all instances of the name, of both logs. The list can be drawn again under the pointer, because the logs are aligned.
    const threads = page.locator(".compare-name[data-path*='Thread Count']");
    await assert.doesNotReject(async () => {
      while ((await threads.getAttribute("aria-pressed")) !== "true") {
        await threads.click();
        await page.waitForTimeout(500);
      }
    });
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 4);
  });
  await server.stop();
});

test("changes: the list follows the visible range, the order of the logs, and earlier values of one log", async () => {
  const [before, after] = twoLogs();
  const server = await serve(before, after);
  await withPage("changes-range", `${server.url}#open=overview`, async (page) => {
    await page.waitForSelector(".panel .legend-line");
    await page.keyboard.press("C");
    await listThat(page, JSON.parse(await tacho("compare", before, after, "-f", "json")));
    // The disk is slower in the second half only.
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.fill("#from-field", "10:00:30");
    await page.fill("#to-field", "10:00:50");
    await page.press("#to-field", "Enter");
    await rangeAfter(page, null);
    await page.keyboard.press("C");
    const part = JSON.parse(await tacho("compare", before, after, "-f", "json", "-b", "2024-03-05T10:00:30Z", "-e", "2024-03-05T10:00:50Z"));
    const rows = await listThat(page, part);
    assert.equal(rows.find((row) => row.path.includes("Disk sec/Read")).change, "× 27.0");
    await page.selectOption("#compare-before", { label: "changes-after.csv" });
    await page.waitForFunction(() => [...document.querySelectorAll("#compare-body tr")].some((row) => /Disk sec\/Read/.test(row.textContent) && /÷ 27\.0/.test(row.textContent)));
  });
  await server.stop();
  const one = await serve(after);
  await withPage("changes-earlier", `${one.url}#open=overview&shift=30`, async (page) => {
    await page.click("#compare-button");
    assert.deepEqual(await page.$$eval("#compare-before option, #compare-after option", (all) => all.filter(({ selected }) => selected).map(({ textContent }) => textContent)), ["changes-after.csv, 30 s earlier", "changes-after.csv"]);
    await page.waitForFunction(() => document.querySelectorAll("#compare-body tr").length > 3);
  });
  await one.stop();
});

test("changes: on a phone the list covers the page; dark; nothing to compare", async () => {
  const [before, after] = twoLogs();
  const server = await serve(before, after);
  await withPage("changes-phone", `${server.url}#open=overview`, async (page) => {
    await page.click("#compare-button");
    await page.waitForSelector("#compare-body tr");
    const { scrolls, box } = await page.evaluate(() => ({ scrolls: document.documentElement.scrollWidth > innerWidth, box: document.getElementById("compare-panel").getBoundingClientRect().toJSON() }));
    assert.ok(!scrolls && box.width === 360, JSON.stringify(box));
    await page.locator(".compare-name").first().click();
    await page.waitForSelector(".compare-name[aria-pressed=true]");
  }, { width: 360, height: 740 });
  await withPage("changes-dark", `${server.url}#open=overview`, async (page) => {
    await page.click("#compare-button");
    await page.waitForSelector("#compare-body tr");
  }, { theme: "dark" });
  await server.stop();
  const one = await serve(before);
  await withPage("changes-none", `${one.url}#open=overview`, async (page) => {
    await page.waitForSelector(".panel .legend-line");
    assert.equal(await page.isVisible("#compare-button"), false);
    await page.keyboard.press("C");
    await page.waitForSelector(".message:has-text('Show two logs')");
    assert.equal(await page.isVisible("#compare-panel"), false);
  });
  await one.stop();
});
