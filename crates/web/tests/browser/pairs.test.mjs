// Two logs, or a log and its earlier values, in the legends of panels: which lines there are, and how their values changed.

import assert from "node:assert/strict";
import { rangeAfter, rangeOf, serve, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

const READ = "\\PhysicalDisk(_Total)\\Disk Read Bytes/sec";
const WRITE = "\\PhysicalDisk(_Total)\\Disk Write Bytes/sec";
const MEMORY = "\\Memory\\Available Bytes";
const DISK = { id: 1, title: "Disk", counters: [{ path: READ, label: "read" }, { path: WRITE, label: "write" }] };
const FREE = { id: 2, title: "Free", counters: [{ path: MEMORY, label: "free" }] };

/** Two logs, the second one recorded five minutes later. */
const twoLogs = () => [
  logOf("first.csv", { [READ]: () => 1000, [WRITE]: () => 4000, [MEMORY]: (index) => (index < 30 ? 2 ** 30 : 2 ** 31) }),
  logOf("second.csv", { [READ]: () => 3000, [WRITE]: () => 1000, [MEMORY]: () => 2 ** 31 }, 60, "WEB1", 300),
];

/** The lines of a panel's legend: name and visible values. */
const legendOf = (page, title) => page.$$eval(".panel", (all, wanted) => [...all.find((panel) => panel.querySelector(".panel-title").textContent === wanted).querySelectorAll(".legend-line")].map((line) => [...line.querySelectorAll(".legend-name, .legend-value, .legend-change")].map(({ textContent }) => textContent).join(" ").trim()), title);

/** Waits until the lines of a panel's legend are these. */
async function legendIs(page, title, expected) {
  const end = Date.now() + 20_000;
  let lines = null;
  while (JSON.stringify(lines) !== JSON.stringify(expected) && Date.now() < end) {
    await page.waitForTimeout(50);
    lines = await legendOf(page, title);
  }
  assert.deepEqual(lines, expected);
}

const showOnly = async (page, name) => {
  await page.click("#source-menu summary");
  await page.click(`.source-name:has-text("${name}")`);
};

test("pairs: a legend has no values of a log, or of a shift, that is no longer shown", async () => {
  const server = await serve(...twoLogs());
  await withPage("pairs-stale", `${server.url}#${panelLink(DISK, FREE)}`, async (page) => {
    const lines = () => page.$$eval(".panel:first-child .legend-line", (all) => all.length);
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 4);
    await showOnly(page, "first.csv");
    await legendIs(page, "Disk", ["read 1.00 kB/s", "write 4.00 kB/s"]);
    await page.keyboard.press("r");
    await page.fill("#shift-field", "10 s");
    await page.press("#shift-field", "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 4);
    await page.click("#time-menu summary");
    await page.click("#shift-presets button:has-text('Off')");
    await legendIs(page, "Disk", ["read 1.00 kB/s", "write 4.00 kB/s"]);
    assert.equal(await lines(), 2);
  });
  await server.stop();
});

test("pairs: the change is shown at the newer value, and only if both values are of equally long times", async () => {
  const [first, second] = twoLogs();
  const server = await serve(first, second);
  const shift = async (page, text) => {
    await page.keyboard.press("r");
    await page.fill("#shift-field", text);
    await page.press("#shift-field", "Enter");
  };
  await withPage("pairs-change", `${server.url}#${panelLink(DISK, FREE)}`, async (page) => {
    await legendIs(page, "Disk", ["read 1.00 kB/s", "read · second.csv 3.00 kB/s (+200 %)", "write 4.00 kB/s", "write · second.csv 1.00 kB/s (−75.0 %)"]);
    // The lines above the panels say which line is of which log.
    const dashes = await page.$$eval("#headline p", (all) => all.map((line) => [line.textContent.slice(0, 10), line.querySelector(".swatch line").getAttribute("stroke-dasharray")]));
    assert.deepEqual(dashes.map(([name, dash]) => [name, dash !== null]), [["first.csvW", false], ["second.csv", true]]);
    await showOnly(page, "first.csv");
    await shift(page, "30 s");
    // Half of the log has no earlier values: the averages are of different times.
    await legendIs(page, "Free", ["free 1.50 GiB", "free · 30 s earlier 1.00 GiB"]);
    assert.match(await page.locator(".panel .legend-key").last().textContent(), /^30 s earlier \(50 % of the range\)$/);
    assert.match(await page.textContent("#range-text"), /; dotted: 30 s earlier$/);
    await page.keyboard.press("r");
    await page.fill("#from-field", "10:00:30");
    await page.fill("#to-field", "10:00:50");
    await page.press("#to-field", "Enter");
    await legendIs(page, "Free", ["free 2.00 GiB (+100 %)", "free · 30 s earlier 1.00 GiB"]);
    assert.equal(await page.locator(".panel .legend-key").last().textContent(), "30 s earlier");
  });
  await server.stop();
});

test("pairs: what is typed right after a menu was opened is kept", async () => {
  const server = await serve(twoLogs()[0]);
  await withPage("pairs-typed", `${server.url}#${panelLink(DISK, FREE)}`, async (page) => {
    await legendIs(page, "Free", ["free 1.50 GiB"]);
    // A slow browser sends `toggle` after the first keys: here it is certain that it comes later.
    const typed = await page.evaluate(async () => {
      const kept = [];
      for (const [key, id] of [["r", "shift-field"], ["A", "note-text"]]) {
        const field = document.getElementById(id);
        const toggled = new Promise((resolve) => field.closest("details").addEventListener("toggle", resolve, { once: true }));
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        await null;
        field.value = "30 s";
        await toggled;
        kept.push(field.value);
      }
      return kept;
    });
    assert.deepEqual(typed, ["30 s", "30 s"]);
  });
  await server.stop();
});

test("pairs: the earlier log is the base whichever was ticked first; Changes and charts have one order, which can be swapped", async () => {
  const [first, second] = twoLogs();
  // The order of the command line is kept.
  const server = await serve(second, first);
  await withPage("pairs-order", `${server.url}#${panelLink(DISK, FREE)}`, async (page) => {
    await legendIs(page, "Disk", ["read 3.00 kB/s", "read · first.csv 1.00 kB/s (−66.7 %)", "write 1.00 kB/s", "write · first.csv 4.00 kB/s (+300 %)"]);
    const forward = ["read 1.00 kB/s", "read · second.csv 3.00 kB/s (+200 %)", "write 4.00 kB/s", "write · second.csv 1.00 kB/s (−75.0 %)"];
    await showOnly(page, "second.csv");
    await legendIs(page, "Disk", ["read 3.00 kB/s", "write 1.00 kB/s"]);
    await page.click("#source-menu summary");
    await page.check('input[aria-label="Overlay first.csv"]');
    await page.keyboard.press("Escape");
    await legendIs(page, "Disk", forward);
    await page.click("#compare-button");
    const pair = () => page.$$eval("#compare-before, #compare-after", (all) => all.map((list) => list.selectedOptions[0].textContent));
    const changes = (text) => page.waitForFunction((wanted) => [...document.querySelectorAll("#compare-body tr")].some((row) => /Read/.test(row.textContent) && row.textContent.includes(wanted)), text);
    assert.deepEqual(await pair(), ["first.csv", "second.csv"]);
    await changes("× 3.00");
    // Another choice exchanges both lists, and the charts follow.
    await page.selectOption("#compare-before", { label: "second.csv" });
    await changes("÷ 3.00");
    assert.deepEqual(await pair(), ["second.csv", "first.csv"]);
    await legendIs(page, "Disk", ["read 3.00 kB/s", "read · first.csv 1.00 kB/s (−66.7 %)", "write 1.00 kB/s", "write · first.csv 4.00 kB/s (+300 %)"]);
    await page.click("#compare-swap");
    await changes("× 3.00");
    assert.deepEqual(await pair(), ["first.csv", "second.csv"]);
    await legendIs(page, "Disk", forward);
  });
  await server.stop();
});

test("pairs: clock times and dates are those of the log that has them, also if logs are aligned at their starts", async () => {
  const server = await serve(...twoLogs());
  await withPage("pairs-times", `${server.url}#${panelLink(DISK, FREE)}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 4);
    const type = async (from, to) => {
      if (!(await page.isVisible("#time-form"))) {
        await page.click("#time-menu summary");
        await page.waitForFunction(() => document.activeElement.id === "from-field");
      }
      await page.fill("#from-field", from);
      await page.fill("#to-field", to);
      await page.press("#to-field", "Enter");
    };
    await page.click("#time-menu summary");
    await page.waitForFunction(() => document.activeElement.id === "from-field");
    assert.match(await page.textContent("#time-forms"), /^1:30 \(from the starts\), 14:05:30/);
    // The second log begins at 10:05:00.
    let before = null;
    for (const [from, to, begin, end] of [["10:05:10", "10:05:30", 10, 30], ["10:00:20", "10:00:40", 20, 40], ["2024-03-05 10:05:15", "2024-03-05 10:05:35", 15, 35], ["0:12", "+20s", 12, 32]]) {
      await type(from, to);
      before = await rangeAfter(page, before);
      assert.deepEqual(before, { begin: begin * 1000, end: end * 1000 }, from);
      assert.equal(await page.locator(".panel-empty:visible").count(), 0);
    }
    // A range without samples is refused, with the ranges of the logs.
    for (const [from, to] of [["12:00:00", "12:01:00"], ["2024-03-04 10:00:00", "2024-03-04 10:01:00"]]) {
      await type(from, to);
      await page.waitForFunction(() => /^No log has samples then: first\.csv: 2024-03-05 10:00:00 – 10:00:59; second\.csv: 2024-03-05 10:05:00 – 10:05:59$/.test(document.getElementById("time-error").textContent));
      assert.deepEqual(await rangeOf(page), before);
      await type("", "");
      before = await rangeAfter(page, before);
      await type("0:12", "+20s");
      before = await rangeAfter(page, before);
    }
  });
  await server.stop();
});

test("pairs: the list of changes has full names, one row for equal counters, and says how long logs and names are", async () => {
  const disk = "Disk Discard Bytes/sec";
  const of = (set, instance, value) => ({ [`\\${set}(${instance})\\${disk}`]: () => value });
  const disks = (value) => ({ ...of("LogicalDisk", "/", value), ...of("PhysicalDisk", "vda", value), ...of("PhysicalDisk", "vdb", 2 * value), [READ]: () => value * 7 });
  const server = await serve(logOf("equal-1.csv", disks(1234.5)), logOf("equal-2.csv", disks(98765.25), 60, "WEB1", 300));
  await withPage("pairs-equal", `${server.url}#${panelLink(DISK, { id: 2, title: "Reads", counters: [{ path: READ }] })}`, async (page) => {
    await page.click("#compare-button");
    await page.waitForSelector("#compare-body tr");
    const rows = await page.$$eval("#compare-body tr", (all) => all.map((row) => row.cells[0].textContent));
    const merged = rows.filter((text) => text.includes("also"));
    assert.equal(merged.length, 1, rows.join("\n"));
    assert.match(merged[0], /also (PhysicalDisk\(vda\)|LogicalDisk\(\/\))$/);
    assert.ok(rows.some((text) => text.includes("(vdb)") && !text.includes("also")));
    // No name is cut.
    assert.deepEqual(await page.$$eval("#compare-body th *", (all) => all.filter((part) => part.scrollWidth > part.clientWidth + 1).map(({ textContent }) => textContent)), []);
    assert.match(await page.textContent("#compare-state"), /^\d+ of \d+ counters/);
    // Pictures and the line below the panels have the dates of the logs.
    assert.match(await page.textContent("#range-text"), /^equal-1\.csv \(2024-03-05 10:00:00 – 10:00:59\) \+ equal-2\.csv \(2024-03-05 10:05:00 – 10:05:59\), 0:00/);
    // The toolbar of a panel that is shown alone has one line.
    await page.keyboard.press("Escape");
    await page.locator(".panel").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#panel-menu:not([hidden])");
    assert.equal(new Set(await page.$$eval("#bar > *", (all) => all.filter((part) => part.offsetHeight > 10).map((part) => part.offsetTop + Math.round(part.offsetHeight / 2)))).size, 1);
  }, { width: 1440, height: 900 });
  await server.stop();
});
