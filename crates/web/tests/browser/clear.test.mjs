// What readers see without help: names, units, ranges, what lines and cells are, and what is not shown.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { legendThat, scratch, serve, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

const DISKS = ["0 C:", "1 D:", "2 E:", "3 F:", "4 G:"];
/** A log as Windows writes it, without totals of disks: the disk N reads N MB/s. */
const windowsLog = (name) =>
  logOf(name, {
    "\\Processor Information(_Total)\\% User Time": () => 20,
    "\\Processor Information(_Total)\\% Privileged Time": () => 5,
    "\\Memory\\Committed Bytes": () => 15 * 2 ** 30,
    "\\Memory\\Available Bytes": () => 7 * 2 ** 30,
    ...Object.fromEntries(DISKS.flatMap((disk, index) => [[`\\PhysicalDisk(${disk})\\Disk Read Bytes/sec`, () => index * 1e6], [`\\PhysicalDisk(${disk})\\Disk Write Bytes/sec`, () => index * 1e5]])),
  });
const panelOf = (page, title) => page.locator(`.panel[aria-label="${title}"]`);
const namesOf = (panel) => panel.locator(".legend-line:visible .legend-name").allTextContents();

test("clear: the overview of a Windows log names its memory, draws the busiest disks, and has no legend over the chart", async () => {
  const server = await serve(windowsLog("windows.csv"));
  await withPage("clear-overview", server.url, async (page) => {
    const memory = panelOf(page, "Memory");
    await memory.locator(".legend-line").first().waitFor();
    assert.deepEqual(await namesOf(memory), ["committed", "available"]);
    assert.match(await panelOf(page, "All processors").locator(".panel-figure").textContent(), /legend: average; stacked/);
    const disks = panelOf(page, "Disk throughput");
    await disks.locator(".legend-more:has-text('+6 more')").waitFor();
    assert.deepEqual((await namesOf(disks)).sort(), ["3 F: read", "3 F: write", "4 G: read", "4 G: write"]);
    await disks.locator(".legend-more").click();
    await page.waitForFunction(() => document.querySelectorAll('.panel[aria-label="Disk throughput"] .legend-line').length === 10);
    await disks.locator(".legend-more:has-text('fewer')").click();
    await disks.locator(".legend-more:has-text('+6 more')").waitFor();
    // The view file keeps the label of the alternative.
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "committed.toml");
    await download.saveAs(file);
    assert.match(fs.readFileSync(file, "utf8"), /path = '\\Memory\\Committed Bytes'\nor = \[\{ path = '\\Memory\\Used Bytes', label = 'used' \}\]\nlabel = 'committed'/);
    assert.match(fs.readFileSync(file, "utf8"), /\ntop = 2\n/);
    await page.keyboard.press("Escape");
    // The range and its zone are in the toolbar; the machine and the interval above the panels.
    assert.equal(await page.textContent("#time-title"), "2024-03-05 10:00:00 – 10:00:59");
    assert.equal(await page.textContent("#time-zone"), "UTC");
    assert.match(await page.textContent("#headline"), /windows\.csv.*WEB1.*2024-03-05 10:00:00 – 10:00:59 \(UTC\).*a sample every 1 s/);
    assert.match(await page.textContent("#range-text"), /^windows\.csv, 2024-03-05 10:00:00 – 2024-03-05 10:00:59 \(UTC\), 59 s$/);
    // The plots of a column begin at the same place, and the last panel takes the whole row.
    const lefts = await page.$$eval(".panel .u-over", (all) => all.map((plot) => Math.round(plot.getBoundingClientRect().left - plot.closest(".panel").getBoundingClientRect().left)));
    assert.equal(new Set(lefts).size, 1, lefts.join());
    const [wide, narrow] = await page.$$eval(".panel", (all) => [all.at(-1), all[0]].map((panel) => panel.getBoundingClientRect().width));
    assert.ok((await page.$$eval(".panel", (all) => all.length)) % 2 === 0 || wide > 1.9 * narrow, `${wide} ${narrow}`);
  }, { width: 1200, height: 760 });
  await server.stop();
});

test("clear: in a comparison the legend names each counter once, and says what dashes mean", async () => {
  const server = await serve(windowsLog("dashes.csv"));
  const panels = panelLink({ id: 1, title: "Reads", counters: [{ path: "\\PhysicalDisk(*)\\Disk Read Bytes/sec" }] }, { id: 2, title: "Other", counters: [{ path: "\\Memory\\Available Bytes" }] });
  await withPage("clear-comparison", `${server.url}#shift=10&${panels}`, async (page) => {
    const reads = panelOf(page, "Reads");
    await reads.locator(".legend-key").waitFor();
    assert.equal(await reads.locator(".legend-shared").textContent(), "Disk Read Bytes/sec");
    assert.equal(await reads.locator(".legend-key").textContent(), "10 s earlier (83 % of the range)");
    const names = await reads.locator(".legend-line").evaluateAll((all) => all.map((line) => [line.querySelector(".legend-name").classList.contains("visually-hidden"), line.querySelector(".legend-name").textContent]));
    assert.deepEqual(names.slice(0, 4), [[false, "0 C:"], [true, "0 C: · 10 s earlier"], [false, "1 D:"], [true, "1 D: · 10 s earlier"]]);
    assert.equal(names.length, 10);
    // What has no room is counted, not cut.
    const { below, counted } = await reads.evaluate((panel) => {
      const list = panel.querySelector(".panel-legend");
      const end = list.getBoundingClientRect().bottom;
      const more = panel.querySelector(".legend-more");
      return { below: [...list.children].filter((item) => item.getBoundingClientRect().bottom > end + 12).length, counted: more.hidden ? 0 : Number(more.textContent.match(/\d+/)[0]) };
    });
    assert.equal(counted, below);
    assert.match(await page.textContent("#range-text"), /; dotted: 10 s earlier$/);
  });
  await server.stop();
});

test("clear: a heat map names all rows, has a scale per counter, and keeps notes off the cells", async () => {
  const counters = {};
  for (let index = 0; index < 24; index += 1) counters[`\\Processor Information(0,${index})\\% Processor Time`] = () => (index * 4) % 100;
  for (const name of ["app", "app#1", "app#10", "app#2"]) counters[`\\Process(${name})\\% Processor Time`] = () => 180;
  const server = await serve(logOf("heat-clear.csv", counters));
  const at = (second) => Date.UTC(2024, 2, 5, 10, 0, second) / 1000;
  const heat = panelLink({ id: 1, kind: "heatmap", counters: [{ path: "\\Processor Information(*)\\% Processor Time" }, { path: "\\Process(*)\\% Processor Time" }] });
  await withPage("clear-heat-map", `${server.url}#shift=20&note=${at(20)}~${at(40)}~backup&${heat}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 56 && rows[0].average !== "---", "all counters, twice");
    await page.waitForSelector("#heatmap[data-names='28']");
    const map = await page.evaluate(async () => {
      const { heatLayout, heatSceneOf, heatHeight } = await import("/assets/heat-scene.js");
      const blockOf = (id, of, lines) => ({ source: { id, of }, times: [1, 2], interval: 1, lines });
      const line = (set, instance, bound, id, of) => ({ key: `1.${id} \\${set.toLowerCase()}(${instance})\\% p`, path: `\\\\M\\${set}(${instance})\\% P`, machine: "M", set, instance, parent: null, counter: "% P", label: null, bound, format: { kind: "plain", symbol: "%", factor: 1 }, average: [1, 50], source: { id, of } });
      const all = (id, of) => [...["0,10", "0,9", "0,0"].map((name) => line("Processor", name, 100, id, of)), ...["b", "a"].map((name) => line("Process", name, null, id, of))];
      const blocks = [blockOf("7", undefined, all("7")), blockOf("7-earlier", "7", all("7-earlier", "7"))];
      const scene = heatSceneOf({ blocks, lines: blocks.flatMap(({ lines }) => lines), begin: 0, end: 2 }, { min: null, max: null, axis: "linear", counters: [] });
      const layout = heatLayout(scene, heatHeight(scene));
      return { sections: scene.sections.map(({ title, axis, groups }) => [title, axis.high, groups.map(({ name, rows }) => [name, rows.map(({ line: { source } }) => source.id)])]), heights: layout.groups.map(({ height }) => height), hidden: layout.hidden };
    });
    const both = ["7", "7-earlier"];
    assert.deepEqual(map.sections, [["Processor: % P", 100, [["0,0", both], ["0,9", both], ["0,10", both]]], ["Process: % P", 60, [["a", both], ["b", both]]]]);
    assert.ok(map.heights.every((height) => height >= 14) && map.hidden === 0, JSON.stringify(map));
    assert.match(await page.textContent(".heat-note"), /a cell: one sample; rows: by name; upper row: now; lower row: 20 s earlier/);
    // Each row is high enough for its name.
    const height = await page.$eval("#heatmap", ({ clientHeight }) => clientHeight);
    assert.ok(height > 28 * 16, `${height}`);
    // In the range of the note, the cells have the colours of the scale.
    const colours = await page.evaluate(async () => {
      const { paletteOf } = await import("/assets/heat-scene.js");
      const [canvas, over] = [document.querySelector("#heatmap canvas"), document.querySelector("#heatmap .u-over")];
      const context = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height }).getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const found = [];
      for (const across of [0.5, 0.55, 0.6]) {
        const { data } = context.getImageData(Math.round((over.offsetLeft + over.clientWidth * across) * devicePixelRatio), Math.round((over.offsetTop - canvas.offsetTop + 4) * devicePixelRatio), 1, 1);
        found.push(`#${[...data.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`);
      }
      return { found, known: paletteOf("light") };
    });
    assert.ok(colours.found.every((colour) => colours.known.includes(colour)), colours.found.join());
  }, { width: 1200, height: 760 });
  await server.stop();
});

test("clear: layers of 0 have no line, limits have names, and bands are visible", async () => {
  const server = await serve(windowsLog("layers.csv"));
  await withPage("clear-layers", server.url, async (page) => {
    const found = await page.evaluate(async () => {
      const [{ bandOpacity, withoutZeros }, { namesOf }] = await Promise.all([import("/assets/scene.js"), import("/assets/limits.js")]);
      const format = { kind: "seconds", symbol: "", factor: 1 };
      return {
        zeros: withoutZeros([0, 0, 5, 0, 0, 0, null], [90, 91, 95, 90, 90, 90, null]),
        names: namesOf({ limits: [0.01, 0.02], bands: [[0.001, 0.0015]], namedBands: [[0.001, 0.0018]], format }).map(({ text, colour }) => [text, colour]),
        ink: ["warning", "danger"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()),
        opacity: [1, 4, 8].map(bandOpacity),
      };
    });
    assert.deepEqual(found.zeros, [null, 91, 95, 90, null, null, null]);
    const [warning, danger] = found.ink;
    assert.deepEqual(found.names, [["limit 10 ms", warning], ["limit 20 ms", danger], ["1 ms to 1.8 ms", warning]]);
    assert.ok(found.opacity.every((opacity) => opacity > 0.25), found.opacity.join());
  });
  await server.stop();
});
