// Logs written by Windows, if available.

import assert from "node:assert/strict";
import path from "node:path";
import { classic, drag, inLegend, iso, legendIs, legendThat, rangeAfter, serve, tacho, test, withPage } from "./harness.mjs";

const corpus = process.env.TACHO_CORPUS;

if (corpus) {
  const log = path.join(corpus, "BasicPerfCounters.blg");

  test("corpus: BasicPerfCounters.blg has Windows' average of Avg. Disk Bytes/Read", async () => {
    const server = await serve(log);
    await withPage("corpus", classic(server), async (page) => {
      await page.keyboard.press("a");
      await page.keyboard.type("avg. disk bytes/read physicaldisk");
      await page.waitForSelector("#tree [aria-level='2']");
      await page.keyboard.press("Enter");
      await page.click("#tree-close");
      const rows = await legendThat(page, (found) => found.some((row) => row.counter === "Avg. Disk Bytes/Read" && row.average !== "---"), "the counter");
      assert.ok(rows.some((row) => row.counter === "Avg. Disk Bytes/Read" && row.average === "5,309.189"), JSON.stringify(rows));
      assert.equal(await page.textContent("#value-duration"), "9:59");
      await drag(page, 0.3, 0.5);
      const range = await rangeAfter(page, null);
      const expected = JSON.parse(await tacho("stats", log, "-b", iso(range.begin), "-e", iso(range.end), "-f", "json"));
      await legendIs(page, expected, { isOf: inLegend });
    });
    await server.stop();
  });
}
