// Saving the selected counters as a log, and the chart as a picture.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { classic, drag, iso, legend, legendThat, rangeAfter, saved, scratch, serve, showAs, shown, tacho, test, withPage } from "./harness.mjs";
import { HOSTILE, recordedLog, textLog } from "./logs.mjs";

/** Rows of a CSV without quotes in fields. */
const rowsOf = (text) => text.split("\r\n").filter(Boolean).map((line) => line.slice(1, -1).split('","'));

test("saving: a CSV of the visible range equals the output of tacho relog, and a BLG has the same figures", async () => {
  const log = await recordedLog();
  const server = await serve(log);
  await withPage("save-log", classic(server), async (page) => {
    await page.keyboard.press("a");
    for (const expected of ["\\Processor Information(*)\\% Processor Time", "\\Memory\\Available Bytes"]) {
      await page.fill("#path-field", expected);
      await page.press("#path-field", "Enter");
    }
    await page.click("#tree-close");
    await legendThat(page, (rows) => rows.some((row) => row.counter === "Available Bytes" && row.average !== "---"), "the counters");
    await drag(page, 0.3, 0.7);
    const range = await rangeAfter(page, null);
    const rows = await legend(page);

    const csv = await saved(page, "#save-csv");
    assert.match(csv.name, /\.csv$/);
    const expected = path.join(scratch, "expected.csv");
    const paths = new Set(rows.map((row) => (row.instance === "---" ? `\\${row.set}\\${row.counter}` : `\\${row.set}(${row.instance})\\${row.counter}`)));
    await tacho("relog", log, "-o", expected, "-y", "-b", iso(range.begin), "-e", iso(range.end), "-c", ...paths);
    const [got, wanted] = [rowsOf(fs.readFileSync(csv.path, "utf8")), rowsOf(fs.readFileSync(expected, "utf8"))];
    assert.ok(got.length > 10, `${got.length} rows`);
    const columns = (expected) => expected[0].slice(1).map((name, index) => [name, expected.map((row) => row[index + 1])]).sort();
    assert.deepEqual(got.map((row) => row[0]), wanted.map((row) => row[0]), "times");
    assert.deepEqual(columns(got), columns(wanted), "values");

    // A BLG of the range has the same averages, because it contains the baseline of the first interval.
    const blg = await saved(page, "#save-blg");
    const statistics = JSON.parse(await tacho("stats", blg.path, "-f", "json"));
    for (const row of rows) {
      const line = statistics.find((one) => one.counter === row.counter && (one.instance ?? "---") === row.instance);
      assert.equal(shown(line.average), row.average, `${row.counter} (${row.instance})`);
    }

    // Hidden counters are not saved.
    await page.uncheck("#legend-body tr:has-text('Available Bytes') input");
    const some = await saved(page, "#save-tsv");
    const head = fs.readFileSync(some.path, "utf8").split("\r\n")[0];
    assert.ok(!head.includes("Available Bytes") && head.includes("% Processor Time"), head);
  });
  await server.stop();
});

test("saving: pictures of the chart are valid PNG and SVG files", async () => {
  const server = await serve(textLog("picture.csv", 5000, { instance: HOSTILE }));
  await withPage("save-picture", classic(server), async (page) => {
    await page.keyboard.press("a");
    await page.fill("#path-field", "\\Process(*)\\% Processor Time");
    await page.press("#path-field", "Enter");
    await page.click("#tree-close");
    await legendThat(page, (rows) => rows.some((row) => row.set === "Process" && row.average !== "---"), "the counters");
    const png = await saved(page, "#save-png");
    const bytes = fs.readFileSync(png.path);
    assert.equal(bytes.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
    assert.equal(bytes.readUInt32BE(16), 2400, "width in dots");
    assert.ok(bytes.length > 20_000, `${bytes.length} bytes`);
    fs.copyFileSync(png.path, path.join(process.env.OUT, "screenshots", "saved.png"));

    for (const view of ["line", "bars"]) {
      await showAs(page, view);
      const svg = await saved(page, "#save-svg");
      const text = fs.readFileSync(svg.path, "utf8");
      const expected = await page.evaluate((source) => {
        const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
        return { errors: parsed.querySelectorAll("parsererror").length, paths: parsed.querySelectorAll("path").length, images: parsed.querySelectorAll("img, image").length, texts: [...parsed.querySelectorAll("text")].map((one) => one.textContent) };
      }, text);
      assert.equal(expected.errors, 0, "well-formed");
      assert.ok(expected.paths > 5, `${expected.paths} lines`);
      assert.equal(expected.images, 0, "a name is text");
      const shownTexts = await page.$$eval("#legend-body [data-column=average]", (cells) => cells.map((cell) => cell.textContent));
      for (const average of shownTexts) assert.ok(expected.texts.includes(average), `the legend has ${average}`);
    }
  });
  await server.stop();
});

test("saving: hidden and removed counters are omitted from a very large selection", async () => {
  const log = path.join(scratch, "wide.csv");
  const names = Array.from({ length: 300 }, (_, number) => `\\\\WEB1\\Thing(t${number})\\Number`);
  const second = (number) => `"03/05/2024 10:00:0${number}.000",${names.map((_, at) => `"${at + number}"`).join(",")}`;
  fs.writeFileSync(log, [`"(PDH-CSV 4.0) (UTC)(0)",${names.map((name) => `"${name}"`).join(",")}`, ...[0, 1, 2, 3].map(second), ""].join("\r\n"));
  const server = await serve(log);
  await withPage("save-many", `${server.url}#${new URLSearchParams({ path: "\\Thing(*)\\Number" })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 300, "all counters");
    const columns = async () => rowsOf(fs.readFileSync((await saved(page, "#save-csv")).path, "utf8"))[0].slice(1);
    assert.deepEqual(await columns(), names);
    await page.uncheck("#legend-body tr:nth-child(2) input");
    const hidden = (await legend(page))[1].instance;
    await page.click("#legend-body tr:nth-child(5)");
    const removed = (await legend(page))[4].instance;
    await page.keyboard.press("Delete");
    await legendThat(page, (rows) => rows.length === 299, "one counter fewer");
    assert.deepEqual(await columns(), names.filter((name) => ![hidden, removed].some((instance) => name.includes(`(${instance})`))));
  });
  await server.stop();
});
