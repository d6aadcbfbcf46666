// Reading values: the pinned box, the axis of Performance Monitor, axes of percentages.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { legendThat, plotBox, pointAt, saved, screenshots, serve, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

const manyCounters = (count) => Object.fromEntries(Array.from({ length: count }, (_, number) => [`\\Thing(t${String(number).padStart(2, "0")})\\Number`, () => number]));

test("reading: a pinned box has all values, scrolls, is copied and released", async () => {
  const server = await serve(logOf("many.csv", manyCounters(40)));
  const link = `${server.url}#${panelLink({ id: 1, counters: [{ path: "\\Thing(*)\\Number" }] })}`;
  const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };
  await withPage("pinned", link, async (page) => {
    await legendThat(page, (rows) => rows.length === 40 && rows[0].average !== "---", "the counters");
    const box = await plotBox(page);
    await page.keyboard.press("b");
    await page.waitForSelector(".message:has-text('Point at a chart first')");
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await pointAt(page, x, y, (text) => /and 22 more/.test(text));
    await page.keyboard.press("b");
    await page.waitForSelector("#hover.pinned");
    assert.equal(await page.$$eval("#hover tbody tr", (rows) => rows.length), 40);
    // It stays where it is while the pointer moves, scrolls, and is read by screen readers.
    const text = await page.textContent("#hover");
    await page.mouse.move(box.x + 40, box.y + 30);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await page.textContent("#hover"), text);
    assert.equal(await page.getAttribute("#hover", "aria-hidden"), null);
    const { scrolls, focused } = await page.evaluate(() => ({ scrolls: document.getElementById("hover").scrollHeight > document.getElementById("hover").clientHeight, focused: document.activeElement.id }));
    assert.ok(scrolls && focused === "hover", JSON.stringify({ scrolls, focused }));
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.getElementById("hover").scrollTop > 0);
    await page.screenshot({ path: path.join(screenshots, "pinned-box.png") });
    await page.click("#hover button:text-is('Copy')");
    await page.waitForSelector(".message:has-text('copied')");
    const lines = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
    assert.equal(lines.length, 42);
    assert.match(lines[0], /10:00:\d\d/);
    assert.match(lines[2], /^Number \(t39\)\t39$/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#hover", { state: "hidden" });
    assert.equal(await page.getAttribute("#hover", "aria-hidden"), "true");
    // Releasing does not leave the panel; the box follows the pointer again.
    await pointAt(page, x, y, (shown) => /and 22 more/.test(shown));
  }, clipboard);
  // A long press pins; a click, which is short, still selects a counter.
  await withPage("pinned-long", link, async (page) => {
    await legendThat(page, (rows) => rows.length === 40 && rows[0].average !== "---", "the counters");
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
    await page.mouse.down();
    await page.waitForSelector("#hover.pinned");
    await page.mouse.up();
    assert.equal(await page.isVisible("#hover.pinned"), true);
    await page.click("#hover button[aria-label=Release]");
    await page.waitForSelector("#hover", { state: "hidden" });
    // A drag is no long press.
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 50, { steps: 4 });
    await page.waitForTimeout(800);
    assert.equal(await page.$("#hover.pinned"), null);
    await page.mouse.up();
  }, { width: 360, height: 740 });
  await server.stop();
});

/** The texts and the paths of a picture. */
const pictureOf = (page, file) =>
  page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    return { texts: [...parsed.querySelectorAll("text")].map(({ textContent }) => textContent), paths: [...parsed.querySelectorAll("path")].map((one) => one.getAttribute("d")) };
  }, fs.readFileSync(file, "utf8"));

test("reading: the axis of Performance Monitor is from 0 to 100, and larger values are at its top", async () => {
  const server = await serve(logOf("classic.csv", { "\\Process(_Total)\\Working Set": () => 5600, "\\Processor(_Total)\\% Processor Time": (index) => 20 + (index % 7) }));
  const panel = { id: 1, axis: "scaled", counters: [{ path: "\\Process(_Total)\\Working Set", scale: 0 }, { path: "\\Processor(_Total)\\% Processor Time" }] };
  await withPage("classic-axis", `${server.url}#${panelLink(panel)}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "the counters");
    await page.waitForFunction(() => document.getElementById("cut-text").textContent.startsWith("1 counter drawn at the edge"));
    const { texts } = await pictureOf(page, (await saved(page, "#save-svg")).path);
    const ticks = texts.filter((text) => /^\d+$/.test(text)).map(Number);
    assert.ok(ticks.includes(0) && ticks.includes(100) && Math.max(...ticks) === 100, JSON.stringify(texts));
    // The box has the value itself.
    const box = await plotBox(page);
    await pointAt(page, box.x + box.width / 2, box.y + 2, (text) => /Working Set.*5[,.]\d/s.test(text));
    assert.match(await page.textContent("#hover tr.nearest"), /Working Set/);
    await page.keyboard.press("*");
    await page.waitForFunction(() => document.getElementById("cut-text").textContent === "");
  });
  await server.stop();
});

test("reading: percentages that cannot exceed 100 have an axis up to 100", async () => {
  const stall = "\\Pressure Stall(cpu)\\% Some Stall Time";
  const server = await serve(logOf("late.csv", { [stall]: (index) => (index === 30 ? 145 : 60), "\\Process(a)\\% Processor Time": (index) => (index === 30 ? 145 : 60) }));
  for (const [name, path, isBounded] of [["bounded", stall, true], ["unbounded", "\\Process(a)\\% Processor Time", false]]) {
    await withPage(name, `${server.url}#${panelLink({ id: 1, counters: [{ path }] })}`, async (page) => {
      await legendThat(page, (rows) => rows.length === 1 && rows[0].maximum === "145.000", "the counter");
      const { texts } = await pictureOf(page, (await saved(page, "#save-svg")).path);
      // The ticks of the axis precede those of the time.
      const ticks = texts.slice(0, texts.findIndex((text) => text.startsWith("10:00:")));
      const top = Math.max(...ticks.map((text) => /^(\d+) %$/.exec(text)?.[1] ?? 0).map(Number));
      assert.equal(top > 100, !isBounded, JSON.stringify(texts));
    });
  }
  await server.stop();
});
