// What is drawn of many instances and their total, and how panels are added, exported and removed.

import assert from "node:assert/strict";
import fs from "node:fs";
import { legendThat, saved, serve, showAs, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

const TIME = "\\Process(*)\\% Processor Time";
/** A log with processes p1 to p12 that use 1 to 12 % of a processor, their total. */
const processes = (name, rest = {}) => logOf(name, {
  ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`\\Process(p${index + 1})\\% Processor Time`, () => index + 1])),
  "\\Process(_Total)\\% Processor Time": () => 78,
  ...rest,
});

test("sorted: a legend of many instances begins with the largest, and bars name them without repeating the counter", async () => {
  const server = await serve(processes("sorted.csv"));
  const panels = [{ id: 1, counters: [{ path: TIME }] }, { id: 2, kind: "bars", counters: [{ path: TIME }] }];
  await withPage("sorted-legend", `${server.url}#${panelLink(...panels)}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel:first-child .legend-line").length === 13);
    assert.deepEqual((await page.$$eval(".panel:first-child .legend-line .legend-name", (all) => all.map(({ textContent }) => textContent))).slice(0, 4), ["_Total", "p12", "p11", "p10"]);
    assert.equal(await page.locator(".panel:first-child .panel-title").textContent(), "Process: % Processor Time");
    const texts = await page.$$eval(".panel:nth-child(2) .histogram-picture .bar .strong", (all) => all.map(({ textContent }) => textContent));
    assert.ok(texts.includes("p12") && !texts.some((text) => text.includes("Processor Time")), texts.join());
    // The numbers of the axis are above the bars, where they are visible.
    const [axis, bar] = await page.$eval(".panel:nth-child(2) .histogram-picture", (picture) => [picture.querySelector(".axis-text"), picture.querySelector(".bar .axis-text")].map((text) => text.getBoundingClientRect().bottom));
    assert.ok(axis < bar, `${axis} ${bar}`);
  });
  await server.stop();
});

test("sorted: stacks and heat maps have the parts of a total without the total, and heat maps no empty rows", async () => {
  const server = await serve(processes("stack.csv"));
  await withPage("sorted-stack", `${server.url}#${panelLink({ id: 1, kind: "stacked", counters: [{ path: TIME }] })}`, async (page) => {
    // A row of the legend is the divider.
    await legendThat(page, (rows) => rows.length === 14, "the log");
    const top = () => page.evaluate(() => document.querySelector(".legend-divider")?.textContent ?? "");
    assert.equal(await top(), "Not in this chart: 1 total of the lines above");
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    // The parts are 78 % together; with the total, the axis would reach 156 %.
    assert.match(svg, />80 %</);
    assert.doesNotMatch(svg, />150 %|>200 %</);
    await showAs(page, "heatmap");
    await page.waitForFunction(() => document.getElementById("heatmap").dataset.names === "12");
    assert.match(await page.evaluate(() => document.getElementById("heatmap").dataset.scale), /to (12|15|20) %$/);
    // A row without values is omitted, and the first cell after a gap has the usual width.
    const [rows, cells] = await page.evaluate(async () => {
      const { eachCell, heatSceneOf } = await import("/assets/heat-scene.js");
      const { panelOf } = await import("/assets/panels.js");
      const line = (instance, average) => ({ key: `9.x ${instance}`, path: `\\P(${instance})\\C`, set: "P", counter: "C", instance, parent: null, label: null, machine: "W", source: { id: "x", kind: "log", name: "x" }, unit: "%", format: { kind: "plain", symbol: "%", factor: 1 }, average, minimum: average, maximum: average });
      const lines = [line("a", [1, 1, null, 2, 2]), line("b", [null, null, null, null, null])];
      const scene = heatSceneOf({ blocks: [{ source: { id: "x" }, times: [1, 2, 5.5, 9, 10], interval: 1, lines }], lines, begin: 0, end: 10, zone: null }, panelOf({ kind: "heatmap" }));
      const all = scene.sections.flatMap(({ groups }) => groups.flatMap((group) => group.rows));
      const found = [];
      eachCell({ block: { times: [1, 2, 3, 3.5, 9, 10] }, values: [1, 1, 1, null, 2, 2] }, (begin, end) => found.push(end - begin));
      return [all.map((row) => row.line.instance), found];
    });
    assert.deepEqual(rows, ["a"]);
    assert.deepEqual(cells.slice(1), [1, 1, 1, 1]);
  });
  await server.stop();
});

test("sorted: a click in the tree selects, a double click adds, equal panels are not repeated, and removing one can be undone", async () => {
  const server = await serve(processes("tree.csv", { "\\Memory\\Available Bytes": () => 2 ** 30, "\\Memory\\Pages/sec": () => 5 }));
  await withPage("sorted-tree", `${server.url}#${panelLink({ id: 1, counters: [{ path: TIME }] }, { id: 2, counters: [{ path: "\\Memory\\Pages/sec" }] })}`, async (page) => {
    const titles = (expected) => page.waitForFunction((wanted) => JSON.stringify([...document.querySelectorAll(".panel-title")].map(({ textContent }) => textContent)) === JSON.stringify(wanted), expected);
    await titles(["Process: % Processor Time", "Memory: Pages/sec"]);
    await page.click("#add-button");
    await page.fill("#tree-search", "Available Bytes");
    const name = page.locator("#tree [aria-level='2'] .tree-name:text-is('Available Bytes')");
    await name.click();
    await page.waitForFunction(() => document.getElementById("tree-help-title").textContent.startsWith("Available Bytes"));
    assert.equal(await page.locator(".panel").count(), 2);
    await name.dblclick();
    const all = ["Process: % Processor Time", "Memory: Pages/sec", "Memory: Available Bytes"];
    await titles(all);
    await name.dblclick();
    await page.waitForSelector(".message:has-text('is already on the chart')");
    await titles(all);
    await page.locator(".panel").first().focus();
    await page.keyboard.press("Delete");
    await titles(all.slice(1));
    await page.click(".message:has-text('Removed the panel Process') button:text-is('Undo')");
    await titles(all);
    // Without a set of counters, there is no table.
    await page.locator(".panel").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#kind-list:not([hidden])");
    await page.waitForFunction(() => document.querySelector("#kind-list [value=table]").hidden);
    await showAs(page, "report");
    await page.waitForSelector("#report table");
    assert.doesNotMatch(await page.textContent("#report"), /Time\s*%/);
  });
  await server.stop();
});

test("sorted: the menu of a panel at the bottom opens upward, and a new drawing shows no box of another chart", async () => {
  const server = await serve(processes("menu.csv", { "\\Memory\\Available Bytes": (index) => index * 2 ** 20 }));
  const panels = [{ id: 1, title: "Top", counters: [{ path: TIME }] }, { id: 2, title: "Bottom", counters: [{ path: "\\Memory\\Available Bytes" }] }];
  await withPage("sorted-menu", `${server.url}#${panelLink(...panels)}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel .u-over").length === 2);
    const top = await page.locator(".panel:first-child .u-over").boundingBox();
    await page.mouse.move(top.x + top.width * 0.3, top.y + 20);
    await page.mouse.down();
    await page.mouse.move(top.x + top.width * 0.6, top.y + 20, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => document.getElementById("content").dataset.range !== "" && !document.getElementById("chart-busy").checkVisibility());
    await page.waitForFunction(() => [...document.querySelectorAll(".legend-value")].every(({ dataset }) => dataset.value !== undefined));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve)))));
    assert.doesNotMatch(await page.$eval("#hover", (box) => (box.hidden ? "" : box.textContent)), /Available Bytes/);
    await page.click(".panel:nth-child(2) .panel-menu summary");
    await page.locator(".panel:nth-child(2) .panel-menu button:text-is('Remove')").waitFor();
    const { bottom, height } = await page.$eval(".panel:nth-child(2) .menu-body", (body) => ({ bottom: body.getBoundingClientRect().bottom, height: innerHeight }));
    assert.ok(bottom <= height, `${bottom} ${height}`);
  }, { width: 1200, height: 640 });
  await server.stop();
});

test("sorted: a stack has no parts of several machines", async () => {
  const machine = (name) => ({ [`${name}\\Processor(_Total)\\% User Time`]: () => 30, [`${name}\\Processor(_Total)\\% Privileged Time`]: () => 10 });
  const log = logOf("machines.csv", { ...machine("WEB1"), ...machine("WEB2"), ...machine("WEB3") }, 60, "");
  const server = await serve(log);
  const counters = ["% User Time", "% Privileged Time"].map((counter) => ({ path: `\\Processor(_Total)\\${counter}` }));
  await withPage("sorted-machines", `${server.url}#${panelLink({ id: 1, kind: "stacked", counters })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 6 && rows.every((row) => row.average !== "---"), "three machines");
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    // On top of each other, they would reach 120 %.
    assert.ok(!/fill-opacity="0\.55"/.test(svg), "no areas");
    assert.doesNotMatch(svg, />120 %</);
    // The lines of one machine are parts of one whole.
    for (const name of ["WEB2", "WEB3"]) for (const row of await page.$$(`#legend-body tr[title*=${name}] input`)) await row.click();
    assert.match(fs.readFileSync((await saved(page, "#save-svg")).path, "utf8"), /fill-opacity="0\.55"/);
  });
  await server.stop();
});
