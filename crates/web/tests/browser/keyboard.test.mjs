// Keyboard operation.

import assert from "node:assert/strict";
import { barFigure, classic, legend, legendThat, rangeAfter, serve, shown, test, withPage } from "./harness.mjs";
import { recordedLog } from "./logs.mjs";

test("keyboard: keys operate the tree, the legend and the chart, and switch the kind of panel", async () => {
  const server = await serve(await recordedLog());
  await withPage("keyboard", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate(() => document.activeElement.querySelector(".tree-name")?.textContent ?? document.activeElement.id);

    // The tree: open a set and a counter, and add one instance.
    await press("a");
    await page.waitForSelector("#tree [role=treeitem]");
    await press("ArrowDown", "End", "Home");
    assert.equal(await focused(), "Memory");
    await press("p");
    assert.equal(await focused(), "Processor Information");
    await press("ArrowRight", "ArrowRight");
    assert.match(await focused(), /^% Processor Time/);
    await press("ArrowRight");
    await page.waitForSelector("#tree [aria-level='3']:has-text('_Total')");
    await press("ArrowRight");
    assert.equal(await focused(), "All instances (*)");
    await press("ArrowDown");
    assert.equal(await focused(), "_Total");
    await press("Enter");
    await legendThat(page, (rows) => rows.some((row) => row.set === "Processor Information" && row.instance === "_Total"), "_Total");
    assert.match(await page.textContent("#tree-help"), /% Processor Time/);
    await press("ArrowLeft", "ArrowLeft");
    assert.match(await focused(), /^% Processor Time/);
    assert.equal(await page.getAttribute("#tree [role=treeitem]:focus", "aria-expanded"), "false");
    await press("ArrowUp", "ArrowUp");
    await press("Escape");
    assert.equal(await focused(), "add-button");
    await page.evaluate(() => document.activeElement.blur());

    // Type a path, and switch the kind of panel.
    await press("a");
    await page.focus("#path-field");
    await page.keyboard.type("no path");
    await press("Enter");
    await page.waitForFunction(() => /begins with/.test(document.getElementById("path-error").textContent));
    await page.fill("#path-field", "\\System\\Context Switches/sec");
    await press("Enter", "Escape");
    await page.evaluate(() => document.activeElement.blur());
    await legendThat(page, (rows) => rows.some((row) => row.set === "System" && row.average !== "---"), "switches");
    await press("g");
    await page.waitForSelector("#histogram svg .bar");
    await press("g");
    await page.waitForSelector("#report table");
    const cells = await page.$$eval("#report td.number[data-value]", (found) => found.map((cell) => Number(cell.dataset.value)));
    for (const row of await legend(page)) assert.ok(cells.map(shown).includes(row.average), `the report has ${row.average}`);
    await press("g");
    await page.waitForSelector("#chart canvas");

    // The legend: select, highlight, hide, remove.
    const selected = () => page.$eval("#legend-body tr[aria-selected=true]", (row) => row.rowIndex);
    const first = await selected();
    await press("ArrowDown");
    await page.waitForFunction((row) => document.querySelector("#legend-body tr[aria-selected=true]").rowIndex === row, first + 1);
    assert.equal(await barFigure(page, "average"), (await legend(page))[first].average);
    await press("h");
    await page.waitForSelector("#legend-body tr.highlighted[aria-selected=true]");
    await press("h", "x");
    await page.waitForSelector("#legend-body tr.hidden-line[aria-selected=true]");
    await press("x");
    // Colour, scale, order.
    const style = () => page.getAttribute("#legend-body tr[aria-selected=true] .swatch-place", "data-style");
    const colour = await style();
    await press("c");
    await page.waitForFunction((then) => document.querySelector("#legend-body tr[aria-selected=true] .swatch-place").dataset.style !== then, colour);
    await press("<");
    await page.waitForFunction(() => /^-?\d$/.test(document.querySelector("#legend-body tr[aria-selected=true] select").value));
    await press("~");
    await page.waitForFunction(() => document.querySelector("#legend-body tr[aria-selected=true] select").value === "default");
    await press("s", "o");
    await page.waitForSelector("#legend-head th[data-column=show][aria-sort=descending]");
    await page.click("#legend-head th[data-column=show] button");
    await page.waitForSelector("#legend-head th[data-column=show][aria-sort=none]");
    await page.evaluate(() => document.activeElement.blur());
    const before = (await legend(page)).length;
    await press("Delete");
    await legendThat(page, (rows) => rows.length === before - 1, "one row fewer");

    // The chart: zoom and read values.
    await page.focus("#chart");
    await press("+");
    const closer = await rangeAfter(page, null);
    await press("ArrowLeft");
    const moved = await rangeAfter(page, closer);
    assert.ok(moved.begin < closer.begin);
    await press(".", ".");
    await page.waitForFunction(() => /: .* [\d,.]+, minimum [\d,.]+, maximum [\d,.]+/.test(document.getElementById("announcements").textContent));
    await press("Escape", "0");
    assert.equal(await rangeAfter(page, moved), null);
    await press("?");
    assert.ok(await page.isVisible("#help-dialog"));
    await press("Escape");

    // Without counters the page shows what to do.
    for (let left = before - 1; left > 0; left -= 1) {
      await press("Delete");
      await legendThat(page, (rows) => rows.length === left - 1, `${left - 1} rows`);
    }
    await page.waitForSelector("#legend-empty");
    await page.waitForSelector("#chart-empty");
  });
  await server.stop();
});

test("keyboard: Tab reaches all controls, with a visible focus", async () => {
  const server = await serve(await recordedLog());
  await withPage("tabbing", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    const seen = [];
    for (let index = 0; index < 60; index += 1) {
      await page.keyboard.press("Tab");
      const found = await page.evaluate(() => {
        const at = document.activeElement;
        if (at === document.body) return null;
        const style = getComputedStyle(at.matches(".segments input") ? at.nextElementSibling : at);
        return { id: at.id || at.className || at.tagName, outline: `${style.outlineStyle} ${style.outlineWidth}` };
      });
      if (!found) break;
      assert.match(found.outline, /^(solid|auto) [1-9]/, `the focus on ${found.id} is visible`);
      seen.push(found.id);
    }
    for (const id of ["skip", "help-button", "theme-button", "add-button", "zoom-in", "chart"]) assert.ok(seen.includes(id), `${id} is reached: ${seen.join(" ")}`);
  });
  await server.stop();
});
