// Tables of processes: those that have ended, phones, and the order of rows.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { scratch, serve, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

const CPU = { title: "CPU", counter: "% Processor Time" };
const processes = { set: "Process", sort: "CPU", process: "ID Process", columns: [{ title: "PID", counter: "ID Process", is_last: true }, { title: "THREADS", counter: "Thread Count" }, CPU, { title: "NAME" }] };
const names = (page) => page.$$eval(".instances tbody th", (all) => all.map(({ title }) => title.split("\n")[0]));

test("tables: a process that has ended leaves the live table with the next sample", async () => {
  // No other process has this name, whose number could move to another process.
  const program = path.join(scratch, "short-lived");
  fs.copyFileSync("/bin/sleep", program);
  const child = spawn(program, ["86318"]);
  const server = await serve("--interval", "0.5");
  await withPage("ended", `${server.url}#points=1000&${panelLink({ id: 1, kind: "table", table: { ...processes, filter: "short-lived" } })}`, async (page) => {
    const hasChild = (id) => [...document.querySelectorAll(".instances tbody td")].some(({ dataset }) => dataset.value === String(id));
    await page.waitForFunction(hasChild, child.pid);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await ended;
    await page.waitForFunction(() => document.querySelector(".instances") && !document.querySelector(".instances tbody tr"));
    await page.waitForSelector("#live-state[data-state=live]");
    // The window still has its values: a table of averages shows it, with the share of the time.
    await page.click("summary:text-is('Display')");
    await page.selectOption("#figure-list", "average");
    await page.waitForFunction(hasChild, child.pid);
  });
  await server.stop();
});

test("tables: on a phone, the name and the processor time are visible, and stay readable when scrolled", async () => {
  const more = ["Handle Count", "Private Bytes", "Working Set", "Page Faults/sec", "IO Read Bytes/sec"];
  const log = logOf("phone.csv", Object.fromEntries(["ID Process", "Thread Count", "% Processor Time", ...more].map((counter, at) => [`\\Process(a-process-with-a-very-long-name)\\${counter}`, () => 10 + at])));
  const server = await serve(log);
  const columns = [...processes.columns, ...more.map((counter) => ({ title: counter.toUpperCase(), counter }))];
  for (const other of [[], [{ id: 2, counters: [{ path: "\\Process(*)\\Thread Count" }] }]]) {
    await withPage(`phone-table-${other.length}`, `${server.url}#${panelLink({ id: 1, kind: "table", table: { ...processes, columns } }, ...other)}`, async (page) => {
      await page.waitForSelector(".instances tbody td");
      const heads = await page.$$eval(".instances thead th", (all) => all.map(({ textContent }) => textContent.trim()));
      assert.deepEqual(heads.slice(0, 2), ["NAME", "CPU"]);
      const place = (selector) => page.locator(selector).first().boundingBox();
      const cpu = await place(".instances tbody td");
      assert.ok(cpu.x + cpu.width <= 390, JSON.stringify(cpu));
      const filter = await place(":is(.panel, #report) .table-filter");
      assert.ok(filter.width >= 100, `the filter is ${filter.width} px wide`);
      // Scrolled to the side, the name keeps its heading, and covers no part of a value.
      await page.evaluate(() => {
        const scroller = [document.querySelector("#report:not([hidden])"), document.querySelector(".panel .table-scroll")].find((one) => one && one.scrollWidth > one.clientWidth);
        scroller.scrollLeft = 75;
      });
      await page.waitForFunction(() => {
        const [head, ...heads] = [...document.querySelectorAll(".instances thead th")].map((one) => one.getBoundingClientRect());
        const name = document.querySelector(".instances tbody th").getBoundingClientRect();
        return Math.abs(head.left - name.left) < 1 && heads[0].left < name.right - 10 && heads.every(({ left, right }) => right <= name.right + 1 || left >= name.right - 1);
      });
    }, { width: 390, height: 844 });
  }
  await server.stop();
});

test("tables: a column has the average over the whole range, by which rows are sorted", async () => {
  const log = logOf("weighted.csv", { "\\Process(always)\\% Processor Time": () => 10, "\\Process(short)\\% Processor Time": (index) => (index < 6 ? 90 : "") });
  const server = await serve(log);
  await withPage("weighted", `${server.url}#${panelLink({ id: 1, kind: "table", table: { ...processes, columns: [CPU, { title: "NAME" }] } })}`, async (page) => {
    await page.waitForSelector(".instances tbody tr:nth-child(2)");
    assert.deepEqual(await names(page), ["always", "short"]);
    const heads = () => page.$$eval(".instances thead th", (all) => all.map((head) => [head.textContent, head.getAttribute("aria-sort")]));
    assert.deepEqual((await heads()).slice(0, 2), [["CPU", "none"], ["× PRESENT", "descending"]]);
    assert.deepEqual(await page.$$eval(".instances tbody tr", (all) => all.map((row) => [row.cells[0], row.cells[1]].map((cell) => Number(cell.dataset.value)))), [[10, 10], [90, 9]]);
    // The largest value is not weighted.
    await page.click("summary:text-is('Display')");
    await page.selectOption("#figure-list", "maximum");
    await page.waitForFunction(() => document.querySelector(".instances tbody th").title.startsWith("short"));
    assert.deepEqual((await heads())[0], ["CPU", "descending"]);
  });
  await server.stop();
});

test("tables: long paths keep both ends and the name of their log, and are first if they would be outside at the end", async () => {
  const long = "/system.slice/0123456789abcdef0123456789abcdef0123456789abcdef.scope";
  const groups = (factor) => ({ [`\\Cgroup(${long})\\% Processor Time`]: () => 10 * factor, "\\Cgroup(/)\\% Processor Time": () => 20 * factor });
  const server = await serve(logOf("groups-1.csv", groups(1)), logOf("groups-2.csv", groups(2), 60, "WEB2"));
  const other = (title) => ({ title, counter: "Memory Current Bytes" });
  const table = { set: "Cgroup", sort: "CPU", columns: [CPU, ...["COLUMN A", "COLUMN B", "COLUMN C", "COLUMN D", "COLUMN E", "COLUMN F"].map(other), { title: "GROUP" }] };
  await withPage("long-paths", `${server.url}#${panelLink({ id: 1, kind: "table", table })}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length === 4);
    const cells = await page.$$eval(".instances tbody th", (all) => all.map((cell) => ({ text: cell.textContent, isWhole: cell.scrollWidth <= cell.clientWidth, index: cell.cellIndex })));
    const found = cells.find(({ text }) => text.includes("…"));
    assert.deepEqual(found, { text: "/system.slic…bcdef0123456789abcdef.scope · groups-2.csv", isWhole: true, index: 0 });
    // In a wide window it stays where the view has it.
    await page.setViewportSize({ width: 1300, height: 800 });
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".instances tbody tr th")?.cellIndex === 7);
  }, { width: 660 });
  await server.stop();
});
