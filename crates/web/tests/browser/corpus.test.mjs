// Logs that Windows wrote, if `TACHO_CORPUS` names their folder.

import assert from "node:assert/strict";
import path from "node:path";
import { classic, drag, inLegend, iso, legendIs, legendThat, PATIENCE, rangeAfter, rangeOf, serve, tacho, test, withPage } from "./harness.mjs";

const corpus = process.env.TACHO_CORPUS;
const ZOOMS = 20;
const FIGURES = ["average", "last", "minimum", "maximum"];
/** Each run zooms to other random ranges; `SEED` repeats those of an earlier run. */
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** Random numbers from 0 to 1. */
function randomFrom(start) {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The statistics of `tacho stats` over a range, by path; empty if a short range is between two samples. */
async function expectedIn(log, { begin, end }) {
  try {
    const lines = JSON.parse(await tacho("stats", log, "-b", iso(begin), "-e", iso(end), "-f", "json"));
    return new Map(lines.map((line) => [line.path, line]));
  } catch (problem) {
    if (!problem.message.includes("no samples in this time range")) throw problem;
    return new Map();
  }
}

/** Compares the server's statistics of all counters with `expected`. Returns the number of compared figures. */
async function compareAnswer(server, { begin, end }, expected, columns) {
  const query = new URLSearchParams([["path", "\\*(*)\\*"], ["path", "\\*\\*"], ["begin", iso(begin)], ["end", iso(end)], ["columns", columns]]);
  const response = await fetch(`${server.url}api/sources/1/series?${query}`);
  assert.equal(response.status, 200, await response.clone().text());
  const { series } = await response.json();
  assert.deepEqual(series.map(({ path: one }) => one).sort(), [...expected.keys()].sort());
  for (const { path: one, statistics } of series) {
    for (const figure of FIGURES) assert.equal(statistics[figure], expected.get(one)[figure], `${figure} of ${one} from ${iso(begin)} to ${iso(end)}`);
  }
  return series.length * FIGURES.length;
}

/** Drags over the chart of the first panel; positions are parts of its width. */
async function dragFirst(page, from, to) {
  const box = await page.locator("#panels .u-over").first().boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 3 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 3 });
  await page.mouse.up();
}

/** The figures of all panels with all their digits: `[path, value]`. */
const panelFigures = (page) =>
  page.$$eval("#panels .legend-line", (rows) => rows.map((row) => [row.title.split("\n")[0], row.querySelector("[data-value]").dataset.value]));

/** Waits until all panels have these figures; returns the number of compared figures. */
async function panelsHave(page, expected, figure) {
  await page.$eval("#figure-list", (list, value) => {
    list.value = value;
    list.dispatchEvent(new Event("change"));
  }, figure);
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await panelFigures(page);
    const wrong = found.filter(([one, value]) => (value === "" ? null : Number(value)) !== (expected.get(one)?.[figure] ?? null));
    if (found.length > 0 === expected.size > 0 && !wrong.length) return found.length;
    assert.ok(Date.now() < end, `${figure}: ${found.length} figures; wrong: ${JSON.stringify(wrong.slice(0, 3).map(([one, value]) => [one, value, expected.get(one)?.[figure]]))}`);
    await page.waitForTimeout(30);
  }
}

if (corpus) {
  const log = path.join(corpus, "BasicPerfCounters.blg");

  test("corpus: the average of Avg. Disk Bytes/Read in BasicPerfCounters.blg is that of Windows", async () => {
    const server = await serve(log);
    await withPage("corpus", classic(server), async (page) => {
      await page.keyboard.press("a");
      await page.keyboard.type("avg. disk bytes/read physicaldisk");
      await page.waitForSelector("#tree [aria-level='2']");
      await page.keyboard.press("Enter");
      await page.click("#tree-close");
      const rows = await legendThat(page, (found) => found.some((row) => row.counter === "Avg. Disk Bytes/Read" && row.average !== "---"), "the counter");
      assert.ok(rows.some((row) => row.counter === "Avg. Disk Bytes/Read" && row.average === "5,309.189"), JSON.stringify(rows));
      assert.equal(await page.textContent("#value-duration"), "9 min 59 s");
      await drag(page, 0.3, 0.5);
      const range = await rangeAfter(page, null);
      const expected = JSON.parse(await tacho("stats", log, "-b", iso(range.begin), "-e", iso(range.end), "-f", "json"));
      await legendIs(page, expected, { isOf: inLegend });
    });
    await server.stop();
  });

  // The third file of the corpus, CorruptBlg.blg, is not a log.
  for (const name of ["BasicPerfCounters", "SampleLog"]) {
    test(`corpus: ${ZOOMS} random zooms into ${name}.blg have the figures of tacho stats in all panels`, async () => {
      console.log(`${name}: SEED=${seed}`);
      const random = randomFrom(seed);
      const file = path.join(corpus, `${name}.blg`);
      const server = await serve(file);
      let compared = 0;
      await withPage(`corpus-zooms-${name}`, `${server.url}#open=overview`, async (page) => {
        await page.waitForSelector("#panels .panel .legend-line");
        for (let zoom = 0; zoom < ZOOMS; zoom += 1) {
          const from = random() * 0.9;
          const to = Math.min(0.999, from + 0.02 + random() * (0.98 - from));
          await dragFirst(page, from, to);
          const range = await rangeAfter(page, null);
          const expected = await expectedIn(file, range);
          for (const figure of FIGURES) compared += await panelsHave(page, expected, figure);
          compared += await compareAnswer(server, range, expected, 1 + Math.floor(random() * 250));
          await page.click("#zoom-whole");
          for (const end = Date.now() + PATIENCE; (await rangeOf(page)) !== null; ) {
            assert.ok(Date.now() < end, "the whole range is not shown");
            await page.waitForTimeout(20);
          }
        }
      });
      console.log(`${name}: ${compared} figures are equal`);
      await server.stop();
    });
  }
}
