// Heat maps, shaded ranges, earlier values, and notes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { drag, iso, legendThat, plotBox, pointAt, rangeAfter, saved, scratch, serve, tacho, test, withPage } from "./harness.mjs";
import { textLog } from "./logs.mjs";

const panelLink = (...panels) => panels.map((panel) => `panel=${encodeURIComponent(JSON.stringify(panel))}`).join("&");
const BUSY = "\\Processor(*)\\% Processor Time";

/** A log of four processors with a sample per minute, usually for two days: processor N is busy N * 10 %, twice as much on day two. */
function processorLog(name, minutes = 2 * 1440) {
  const file = path.join(scratch, name);
  const two = (number) => String(number).padStart(2, "0");
  const lines = [`"(PDH-CSV 4.0) (UTC)(0)",${[1, 2, 3, 4].map((number) => `"\\\\WEB1\\Processor(${number})\\% Processor Time"`).join(",")}`];
  for (let minute = 0; minute < minutes; minute += 1) {
    const at = new Date(Date.UTC(2024, 2, 5, 0, minute));
    const time = `${two(at.getUTCMonth() + 1)}/${two(at.getUTCDate())}/${at.getUTCFullYear()} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:00.000`;
    lines.push(`"${time}",${[1, 2, 3, 4].map((number) => `"${number * 10 * (minute < 1440 ? 1 : 2)}"`).join(",")}`);
  }
  fs.writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  return file;
}

/** The colours of a heat map at parts of its width and rows, as `#rrggbb`. */
const colours = (page, selector, places) =>
  page.$eval(selector, (place, wanted) => {
    const [canvas, over] = [place.querySelector("canvas"), place.querySelector(".u-over")];
    // The pixels are read from a copy, because the browser warns when the chart's own canvas is read.
    const context = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height }).getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return wanted.map(([across, down]) => {
      const at = [over.offsetLeft + over.clientWidth * across, over.offsetTop + over.clientHeight * down].map((part) => Math.round(part * devicePixelRatio));
      return `#${[...context.getImageData(...at, 1, 1).data.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    });
  }, places);

const paletteOf = async (page, name) => page.evaluate(async (theme) => (await import("/assets/heat-scene.js")).paletteOf(theme), name);

for (const theme of ["light", "dark"]) {
  test(`heat map: the colours represent the values, ${theme}`, async () => {
    const server = await serve(processorLog(`heat-${theme}.csv`));
    await withPage(`heat-map-${theme}`, `${server.url}#${panelLink({ id: 1, kind: "heatmap", min: 0, max: 100, counters: [{ path: BUSY }] })}`, async (page) => {
      await page.waitForFunction(() => document.querySelector("#heatmap[data-scale]"));
      assert.equal(await page.getAttribute("#heatmap", "data-scale"), "0 % to 100 %");
      const palette = await paletteOf(page, theme);
      const colourOf = (value) => palette[Math.round((value / 100) * (palette.length - 1))];
      const rows = [0.125, 0.375, 0.625, 0.875];
      assert.deepEqual(await colours(page, "#heatmap", rows.map((row) => [0.25, row])), [10, 20, 30, 40].map(colourOf));
      assert.deepEqual(await colours(page, "#heatmap", rows.map((row) => [0.75, row])), [20, 40, 60, 80].map(colourOf));
      // The pointer shows the value of the row.
      const box = await plotBox(page);
      await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.6);
      await page.waitForSelector("#hover:not([hidden])");
      assert.match(await page.textContent("#hover tr.nearest"), /% Processor Time \(3\)60\.0 %/);
      // Keys also announce values.
      await page.mouse.move(5, 5);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press(".");
      await page.waitForFunction(() => /Processor Time \(2\) 20\.000/.test(document.getElementById("announcements").textContent));
      // Dragging zooms.
      await drag(page, 0.5, 0.9);
      const range = await rangeAfter(page, null);
      assert.ok(range.begin > Date.UTC(2024, 2, 5, 23) && range.end < Date.UTC(2024, 2, 6, 20), JSON.stringify(range));
      await page.waitForFunction(() => document.querySelector("#legend-body tr [data-column=average]").dataset.value > 15);
      assert.deepEqual(await colours(page, "#heatmap", rows.map((row) => [0.5, row])), [20, 40, 60, 80].map(colourOf));
      const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
      for (const value of [20, 40, 60, 80]) assert.ok(svg.includes(`fill="${colourOf(value)}"`), String(value));
    }, { theme });
    // A heat map next to another panel has a scale, too.
    const panels = [{ id: 1, title: "Heat", kind: "heatmap", counters: [{ path: BUSY }] }, { id: 2, title: "Lines", counters: [{ path: BUSY }] }];
    await withPage(`heat-map-panels-${theme}`, `${server.url}#${panelLink(...panels)}`, async (page) => {
      await page.waitForFunction(() => document.querySelector(".panel canvas.heat-canvas") && document.querySelectorAll(".panel .u-over").length === 2);
      await page.waitForFunction(() => document.querySelector(".panel-place[data-scale]"));
      // Both panels show the same crosshair.
      await page.locator(".panel .u-over").nth(1).hover();
      await page.waitForSelector(".heat-cursor:not([hidden])");
      await page.focus(".panel");
      await page.keyboard.press("Enter");
      await page.waitForSelector("#heatmap canvas");
      assert.equal(await page.inputValue("#kind-list"), "heatmap");
    }, { theme });
    await server.stop();
  });
}

test("heat map: the unit is that of the first counter, in any order of the legend", async () => {
  const server = await serve(textLog("units.csv", 300));
  const counters = ["\\Processor Information(*)\\% Processor Time", "\\Memory\\Available MBytes"].map((one) => ({ path: one }));
  await withPage("heat-unit", `${server.url}#${panelLink({ id: 1, kind: "heatmap", counters })}`, async (page) => {
    await legendThat(page, (rows) => rows.filter(({ counter }) => counter).length === 2, "both counters");
    await page.waitForSelector("#heatmap[data-scale='0 % to 100 %']");
    await page.click("#legend-head [data-column=average] button");
    await page.waitForSelector("#legend-head [data-column=average][aria-sort=descending]");
    assert.equal(await page.getAttribute("#heatmap", "data-scale"), "0 % to 100 %");
    // The other counter is below, and says that it is not in the chart; it can be shown instead.
    const rows = () => page.$$eval("#legend-body tr", (all) => all.map((row) => (row.className.includes("divider") ? row.textContent : `${row.querySelector("th").textContent}${row.classList.contains("not-drawn") ? ", not drawn" : ""}`)));
    assert.deepEqual(await rows(), ["% Processor Time", "Not in this chart: 1 counter of another unit. Show instead: MB", "Available MBytes, not drawn"]);
    assert.match(await page.textContent("#heatmap .heat-note"), /1 counter of another unit is not shown; show instead: MB/);
    assert.deepEqual(await page.$$eval("#legend-head [data-column]", (all) => all.map(({ dataset }) => dataset.column)), ["show", "counter", "instance", "set", "average", "last", "minimum", "maximum", "remove"]);
    await page.click(".legend-divider button");
    await page.waitForFunction(() => /iB$/.test(document.getElementById("heatmap").dataset.scale));
    await page.waitForFunction(() => /Available/.test(document.querySelector("#legend-body th").textContent));
    await page.click(".heat-note button[data-unit='%']");
    await page.waitForSelector("#heatmap[data-scale='0 % to 100 %']");
    // Without the first counter, the unit is that of the next counter.
    await page.uncheck("#legend-body tr:first-child input");
    await page.waitForFunction(() => /iB$/.test(document.getElementById("heatmap").dataset.scale));
  });
  await server.stop();
});

test("bands: ranges of values can be typed, are shaded, and are saved", async () => {
  const server = await serve(processorLog("bands.csv", 300));
  await withPage("bands", `${server.url}#${panelLink({ id: 1, min: 0, max: 100, counters: [{ path: BUSY }] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 4, "the processors");
    const pixel = (share) => page.evaluate((down) => {
      const { offsetLeft, offsetTop, clientWidth, clientHeight } = document.querySelector("#chart .u-over");
      const canvas = document.querySelector("#chart canvas");
      const context = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height }).getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const at = [offsetLeft + clientWidth * 0.503, offsetTop + clientHeight * (1 - down)].map((part) => Math.round(part * devicePixelRatio));
      return [...context.getImageData(...at, 1, 1).data].join();
    }, share);
    await page.waitForSelector("#chart canvas");
    const [inside, outside] = [await pixel(0.85), await pixel(0.65)];
    await page.click("#panel-menu > summary");
    await page.fill("#panel-bands", "80..90 nonsense");
    await page.press("#panel-bands", "Enter");
    assert.equal(await page.getAttribute("#panel-bands", "aria-invalid"), "true");
    await page.fill("#panel-bands", "80..90 -5..5.5");
    await page.press("#panel-bands", "Enter");
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('"bands":[[80,90],[-5,5.5]]'));
    assert.notEqual(await pixel(0.85), inside, "inside the band");
    assert.equal(await pixel(0.65), outside, "outside the band");
    await page.keyboard.press("Escape");
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "bands.toml");
    await download.saveAs(file);
    assert.match(fs.readFileSync(file, "utf8"), /\nbands = \[\[80, 90\], \[-5, 5\.5\]\]\n/);
    // The command opens the file.
    await tacho("record", "--view", file, "\\Memory\\Available Bytes", "-sc", "1", "-si", "0.1", "-o", path.join(scratch, "bands.blg"), "-y");
  });
  await server.stop();
});

test("earlier: a log is compared with itself a day earlier", async () => {
  const log = processorLog("days.csv");
  const server = await serve(log);
  await withPage("earlier", `${server.url}#${panelLink({ id: 1, counters: [{ path: BUSY }] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 4, "the processors");
    await page.keyboard.press("r");
    await page.fill("#shift-field", "soon");
    await page.press("#shift-field", "Enter");
    await page.waitForFunction(() => /Examples/.test(document.getElementById("shift-error").textContent));
    await page.fill("#shift-field", "1d");
    await page.press("#shift-field", "Enter");
    await legendThat(page, (rows) => rows.length === 8 && rows.every((row) => row.average !== "---"), "both days");
    // When the second day is compared with the first, the legend names the shift, and the figures are those of the earlier range.
    await page.keyboard.press("r");
    await page.fill("#from-field", "2024-03-06 02:00");
    await page.fill("#to-field", "2024-03-06 20:00");
    await page.press("#to-field", "Enter");
    const rows = await legendThat(page, (all) => all.length === 8 && all.some((row) => !row.computer.includes("earlier") && row.instance === "4" && row.average === "80.000"), "today");
    assert.equal(rows.find((row) => row.computer.includes("1 d earlier") && row.instance === "4").average, "40.000");
    const stats = JSON.parse(await tacho("stats", log, "-b", iso(Date.UTC(2024, 2, 5, 2)), "-e", iso(Date.UTC(2024, 2, 5, 20)), "-f", "json"));
    const values = await page.$$eval("#legend-body tr", (all) => all.filter((row) => row.textContent.includes("earlier")).map((row) => [row.title, row.querySelector("[data-column=average]").dataset.value]));
    for (const [full, value] of values) assert.equal(value, String(stats.find((line) => line.path === full).average), full);
    // At one moment both values are shown, with the source and its shift.
    const box = await plotBox(page);
    const hover = await pointAt(page, box.x + box.width * 0.5, box.y + box.height * 0.5, (text) => text.includes("earlier"));
    assert.match(hover, /\(4\)80\.0 %/);
    assert.match(hover, /\(4\) · 1 d earlier40\.0 %/);
    // The lines of a counter have the same colour on both days.
    const strokes = await page.$$eval("#legend-body tr", (all) => all.map((row) => row.querySelector(".swatch line").getAttribute("stroke")));
    assert.equal(new Set(strokes).size, 4);
    // The link has the shift.
    await page.waitForFunction(() => /shift=86400/.test(location.hash));
    await page.reload();
    await legendThat(page, (all) => all.length === 8, "both days again");
    const csv = fs.readFileSync((await saved(page, "#save-csv")).path, "utf8");
    assert.equal(csv.split("\r\n")[0].split(",").length, 5, "a file has the log's own values");
    await page.keyboard.press("r");
    await page.click("#shift-presets button:text-is('Off')");
    await legendThat(page, (all) => all.length === 4, "one day");
  });
  await server.stop();
});

test("earlier: this machine is compared with its own history", async () => {
  const server = await serve("--interval", "0.1");
  const counter = "\\System\\Processor Queue Length";
  await withPage("live-earlier", `${server.url}#shift=2&points=30&${panelLink({ id: 1, counters: [{ path: "\\System\\System Up Time" }, { path: counter }] })}`, async (page) => {
    const rows = await legendThat(page, (all) => {
      const up = all.filter((row) => row.counter === "System Up Time" && row.last !== "---");
      return up.length === 2;
    }, "values of now and of two seconds ago");
    const [now, before] = ["", "earlier"].map((part) => rows.find((row) => row.counter === "System Up Time" && row.computer.includes("earlier") === Boolean(part)));
    const apart = Number(now.last.replaceAll(",", "")) - Number(before.last.replaceAll(",", ""));
    // The earlier values are loaded only from time to time, so the difference is not always two seconds.
    assert.ok(apart > 1.5 && apart < 12, `${apart} s apart`);
  });
  await server.stop();
});

test("notes: they can be for moments and ranges, are drawn in all panels, and are saved with the view", async () => {
  const log = textLog("notes.csv", 600);
  const server = await serve(log);
  const panels = [{ id: 1, title: "One", counters: [{ path: "\\Memory\\Available MBytes" }] }, { id: 2, title: "Two", counters: [{ path: "\\System\\Threads" }] }];
  await withPage("notes", `${server.url}#${panelLink(...panels)}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel .u-over").length === 2);
    const pictures = () => page.$$eval(".panel canvas", (all) => all.map((canvas) => canvas.toDataURL()));
    const changed = async (act) => {
      const before = await pictures();
      await act();
      await page.waitForFunction((drawn) => [...document.querySelectorAll(".panel canvas")].every((canvas, index) => canvas.toDataURL() !== drawn[index]), before);
    };
    await page.keyboard.press("A");
    await page.fill("#note-from", "10:05");
    await page.fill("#note-text", "");
    await page.press("#note-text", "Enter");
    await page.waitForFunction(() => /text is missing/.test(document.getElementById("note-error").textContent));
    await page.fill("#note-text", "<b>deployed</b> ünd 'quoted'");
    await changed(() => page.press("#note-text", "Enter"));
    // Dragging with Shift chooses a range.
    const box = await page.locator(".panel .u-over").first().boundingBox();
    const y = box.y + box.height / 2;
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + box.width * 0.2, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForFunction(() => document.getElementById("notes-menu").open && document.getElementById("note-to").value !== "");
    assert.match(await page.inputValue("#note-from"), /^2024-03-05 10:0[12]:/);
    assert.match(await page.inputValue("#note-to"), /^2024-03-05 10:0[34]:/);
    await page.fill("#note-text", "backup");
    await changed(() => page.press("#note-text", "Enter"));
    // The pointer shows the texts.
    await pointAt(page, box.x + box.width * 0.3, y, (text) => text.includes("backup"));
    await page.mouse.move(2, 2);
    // A click on a note of the list moves the note to the middle of the charts.
    await page.click("#notes-menu > summary");
    await page.waitForFunction(() => document.querySelectorAll("#note-list .view-name").length === 2);
    const listed = await page.$$eval("#note-list .view-name", (all) => all.map((one) => one.textContent));
    assert.match(listed[1], /^2. 2024-03-05 10:05:00 <b>deployed<\/b> ünd 'quoted'$/);
    await page.screenshot({ path: path.join(process.env.OUT, "screenshots", "notes-menu.png") });
    await page.click("#note-list li:nth-child(2) .view-name");
    const range = await rangeAfter(page, null);
    assert.ok(Math.abs((range.begin + range.end) / 2 - Date.UTC(2024, 2, 5, 10, 5)) < 1500, JSON.stringify(range));
    await page.click("#zoom-whole");
    // The link and the view file have the notes.
    const saveView = async () => {
      await page.click("#view-menu > summary");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
      const file = path.join(scratch, "notes.toml");
      await download.saveAs(file);
      return file;
    };
    const file = await saveView();
    const text = fs.readFileSync(file, "utf8");
    assert.ok(text.includes("[[annotation]]\nbegin = '2024-03-05T10:05:00.0000000Z'\ntext = \"<b>deployed</b> ünd 'quoted'\"\n"), text);
    assert.match(text, /\[\[annotation\]\]\nbegin = '2024-03-05T10:0[12][^\n]*\nend = '2024-03-05T10:0[34][^\n]*\ntext = 'backup'\n/);
    await tacho("record", "--view", file, "\\Memory\\Available Bytes", "-sc", "1", "-si", "0.1", "-o", path.join(scratch, "notes.blg"), "-y");
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).getAll("note").length === 2);
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    assert.ok(svg.includes("&lt;b&gt;deployed&lt;/b&gt;") && svg.includes("backup"));
    await page.reload();
    await page.click("#notes-menu > summary");
    await page.waitForFunction(() => document.querySelectorAll("#note-list li").length === 2);
    await changed(() => page.click("#note-list li:first-child [aria-label='Delete backup']"));
    assert.equal(await page.locator("#note-list li").count(), 1);
    await page.keyboard.press("Escape");
    // A ready-made view keeps the notes, a view file replaces them.
    await page.click("#view-menu > summary");
    await page.click("#server-views [data-view=memory]");
    await page.waitForFunction(() => /open=memory/.test(location.hash) && new URLSearchParams(location.hash.slice(1)).getAll("note").length === 1);
    const transfer = await page.evaluateHandle((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], "notes.toml"));
      return data;
    }, text);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).getAll("note").length === 2);
  });
  await server.stop();
});

test("notes: with logs that are aligned at their starts, each note is at its time in its log", async () => {
  // The second log begins 1000 s after the first, and is half as long.
  const server = await serve(textLog("aligned-1.csv", 600), textLog("aligned-2.csv", 300, { machine: "WEB2", from: 1000 }));
  const note = (seconds, text, end = null) => ["note", `${Date.UTC(2024, 2, 5, 10) / 1000 + seconds}.000~${end === null ? "" : `${Date.UTC(2024, 2, 5, 10) / 1000 + end}.000`}~${text}`];
  const link = new URLSearchParams([note(300, "first"), note(1100, "second", 1150), note(800, "neither")]);
  await withPage("notes-aligned", `${server.url}#${link}&${panelLink({ id: 1, counters: [{ path: "\\Memory\\Available MBytes" }] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "both logs");
    await page.waitForFunction(() => /align=start/.test(location.hash));
    const box = await plotBox(page);
    const notesAt = async (seconds) => {
      await pointAt(page, box.x + (box.width * seconds) / 599, box.y + box.height / 2, (text) => text.includes(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`));
      return page.$$eval("#hover .hover-note", (all) => all.map((one) => one.textContent));
    };
    assert.deepEqual(await notesAt(300), ["first · aligned-1.csv"]);
    assert.deepEqual(await notesAt(120), ["second · aligned-2.csv"]);
    assert.deepEqual(await notesAt(160), []);
    // Pictures have the two notes that are visible.
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    assert.ok(svg.includes("first · aligned-1.csv") && svg.includes("second · aligned-2.csv") && !svg.includes("neither"), svg.slice(0, 2000));
    // The menu has the time of the log that users choose.
    await page.mouse.click(box.x + (box.width * 60) / 599, box.y + box.height / 2);
    await page.click("#notes-menu > summary");
    await page.selectOption("#note-log", { label: "aligned-2.csv" });
    assert.match(await page.inputValue("#note-from"), /^2024-03-05 10:17:[34]\d/);
    await page.selectOption("#note-log", { label: "aligned-1.csv" });
    assert.match(await page.inputValue("#note-from"), /^2024-03-05 10:0[01]:\d\d/);
    await page.selectOption("#note-log", { label: "aligned-2.csv" });
    await page.fill("#note-from", "10:20");
    await page.fill("#note-text", "third");
    await page.press("#note-text", "Enter");
    await page.waitForFunction((at) => new URLSearchParams(location.hash.slice(1)).getAll("note").includes(at), `${Date.UTC(2024, 2, 5, 10, 20) / 1000}.000~~third`);
    assert.deepEqual(await notesAt(200), ["third · aligned-2.csv"]);
    // Each note of the list names its log, and shows its place.
    await page.click("#notes-menu > summary");
    await page.waitForFunction(() => document.querySelectorAll("#note-list .view-name").length === 4);
    const listed = await page.$$eval("#note-list .view-name", (all) => all.map((one) => one.textContent));
    assert.deepEqual(listed, ["1. 2024-03-05 10:05:00 first · aligned-1.csv", "2. 2024-03-05 10:13:20 neither", "3. 2024-03-05 10:18:20 – 10:19:10 second · aligned-2.csv", "4. 2024-03-05 10:20:00 third · aligned-2.csv"]);
    await page.click("#note-list li:nth-child(4) .view-name");
    const range = await rangeAfter(page, null);
    assert.ok(Math.abs((range.begin + range.end) / 2 - 200_000) < 1500, JSON.stringify(range));
    // If the logs are aligned by time, each note is at its own time.
    await page.click("#zoom-whole");
    await rangeAfter(page, range);
    await page.click("#source-menu summary");
    await page.check("input[name=align][value=absolute]");
    await page.keyboard.press("Escape");
    for (const [name, seconds] of [["first", 300], ["second", 1125]]) await pointAt(page, box.x + (box.width * seconds) / 1299, box.y + box.height / 2, (text) => text.includes(name));
  });
  await server.stop();
});

test("notes: while the menu is open, a click on a chart chooses the time, draws it, and the text has the focus", async () => {
  const server = await serve(textLog("notes-click.csv", 600));
  const panels = [{ id: 1, title: "One", counters: [{ path: "\\Memory\\Available MBytes" }] }, { id: 2, title: "Two", counters: [{ path: "\\System\\Threads" }] }];
  await withPage("notes-click", `${server.url}#${panelLink(...panels)}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel .u-over").length === 2);
    // Flags in small panels are numbers on one line; at the right end, a flag is left of its line.
    const [small, large] = await page.evaluate(async () => {
      const { flagsOf } = await import("/assets/annotation-marks.js");
      const notes = [10, 12, 95].map((begin, index) => ({ begin, end: null, text: "a long text about a moment", number: index + 1 }));
      return [true, false].map((isCompact) => flagsOf(notes, (at) => at * 4, 0, 400, isCompact).map(({ label, line, start, width }) => [label.slice(0, 6), line, start, start + width]));
    });
    assert.deepEqual(small.map(([label, line]) => [label, line]), [["1", 0], ["2", null], ["3", 0]]);
    assert.deepEqual(large.map(([label, line]) => [label, line]), [["a long", 0], ["a long", 1], ["a long", 0]]);
    assert.deepEqual([large[0][2], large[1][2], Math.round(large[2][3])], [40, 48, 382]);
    await page.click("#notes-menu > summary");
    await page.waitForFunction(() => document.activeElement.id === "note-text");
    await page.keyboard.type("peak");
    const pictures = () => page.$$eval(".panel canvas", (all) => all.map((canvas) => canvas.toDataURL()));
    const before = await pictures();
    const box = await page.locator(".panel .u-over").first().boundingBox();
    await page.mouse.click(box.x + box.width * 0.12, box.y + box.height * 0.8);
    await page.waitForFunction(() => /^2024-03-05 10:01:1[12]/.test(document.getElementById("note-from").value));
    await page.waitForFunction((drawn) => [...document.querySelectorAll(".panel canvas")].every((canvas, index) => canvas.toDataURL() !== drawn[index]), before);
    await page.keyboard.type(" latency");
    assert.equal(await page.inputValue("#note-text"), "peak latency");
    assert.equal(await page.isVisible("#tree-panel"), false);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).getAll("note").some((note) => note.endsWith("~peak latency")));
    assert.equal(await page.isVisible("#note-form"), false);
  });
  await server.stop();
});
