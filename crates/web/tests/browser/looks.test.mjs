// Appearance and accessibility: themes, phones, screen readers.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { classic, drag, legendThat, plotBox, rangeAfter, screenshots, serve, showAs, test, withPage } from "./harness.mjs";
import { logOf, panelLink, recordedLog, textLog } from "./logs.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The violations that axe finds. */
async function violations(page) {
  // The debugger evaluates axe, because the page's content security policy allows no other scripts.
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`) }));
}

const shot = (page, name) => page.screenshot({ path: path.join(screenshots, `${name}.png`) });
const waitForCounters = (page) => legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");

for (const [name, options] of Object.entries({
  light: { theme: "light" },
  dark: { theme: "dark" },
  phone: { theme: "dark", width: 360, height: 740, hasTouch: true },
})) {
  test(`looks: ${name}, without a violation of accessibility rules`, async () => {
    const server = await serve(await recordedLog());
    await withPage(`looks-${name}`, classic(server), async (page) => {
      await waitForCounters(page);
      const clean = async (where) => {
        await shot(page, `looks-${name}-${where}`);
        assert.deepEqual(await violations(page), [], `${name}: ${where}`);
      };
      await clean("line");
      await page.click("#add-button");
      await page.waitForSelector("#tree [role=treeitem]");
      await page.keyboard.type("processor");
      await page.waitForSelector("#tree [aria-level='2']");
      await clean("tree");
      await page.click("#tree-close");
      await page.click("#source-menu summary");
      await clean("sources");
      await page.keyboard.press("Escape");
      await page.click("summary:text-is('Export')");
      await clean("save");
      await page.keyboard.press("Escape");
      await page.click("summary:text-is('Display')");
      await clean("display");
      await page.keyboard.press("Escape");
      for (const view of ["bars", "report", "heatmap"]) {
        await showAs(page, view);
        await page.waitForSelector(`#${view === "bars" ? "histogram" : view} :is(svg, table, canvas)`);
        await clean(view);
      }
      // Phones have no button for the list of keys.
      if (await page.isVisible("#help-button")) await page.click("#help-button");
      else await page.keyboard.press("?");
      await clean("keys");
      await page.click("#help-close");
      await showAs(page, "line");
    }, options);
    await server.stop();
  });
}

for (const [name, options] of Object.entries({ light: { theme: "light" }, dark: { theme: "dark" }, phone: { theme: "light", width: 360, height: 740, hasTouch: true } })) {
  test(`looks: changes and a pinned box, ${name}, without a violation of accessibility rules`, async () => {
    const logs = [1, 3].map((factor) => logOf(`looks-${factor}.csv`, { "\\System\\Threads": () => 100 * factor, "\\Memory\\Available Bytes": (index) => 2 ** 30 / factor + index }));
    const server = await serve(...logs);
    await withPage(`looks-changes-${name}`, `${server.url}#${panelLink({ id: 1, counters: [{ path: "\\System\\Threads" }] })}`, async (page) => {
      await legendThat(page, (rows) => rows.length === 2 && rows[0].average !== "---", "the counters");
      const clean = async (where) => {
        await shot(page, `looks-changes-${name}-${where}`);
        assert.deepEqual(await violations(page), [], `${name}: ${where}`);
      };
      await page.click("#compare-button");
      await page.click(".compare-name >> nth=0");
      await page.waitForSelector(".compare-name[aria-pressed=true]");
      await clean("list");
      await page.click("#compare-close");
      const plot = page.locator(".panel .u-over").first();
      await plot.hover();
      await page.mouse.down();
      await page.waitForSelector("#hover.pinned");
      await page.mouse.up();
      await clean("pinned");
    }, options);
    await server.stop();
  });
}

for (const [name, options] of Object.entries({ light: { theme: "light" }, dark: { theme: "dark" }, phone: { theme: "light", width: 360, height: 740, hasTouch: true } })) {
  test(`looks: panels, ${name}, without a violation of accessibility rules`, async () => {
    const server = await serve("--interval", "0.5");
    await withPage(`looks-panels-${name}`, server.url, async (page) => {
      await page.waitForFunction(() => [...document.querySelectorAll(".legend-value")].filter((value) => value.dataset.value !== "").length > 6);
      const clean = async (where) => {
        await shot(page, `looks-panels-${name}-${where}`);
        assert.deepEqual(await violations(page), [], `${name}: ${where}`);
      };
      await clean("overview");
      for (const menu of ["view-menu", "time-menu", "notes-menu"]) {
        await page.click(`#${menu} > summary`);
        await clean(menu);
        await page.keyboard.press("Escape");
      }
      await page.click(".panel .panel-menu > summary");
      await clean("panel-menu");
      await page.keyboard.press("Escape");
      await page.click(".panel .panel-title");
      await page.click("#panel-menu > summary");
      await clean("alone");
      await page.keyboard.press("Escape");
      await page.click("#view-menu > summary");
      await page.click("#server-views [data-view=processes]");
      await page.waitForSelector(".instances tbody tr");
      await clean("table");
      await page.click(".panel .panel-title:text-is('Processes')");
      await page.waitForSelector("#report .instances tbody tr");
      await clean("table-alone");
    }, options);
    await server.stop();
  });
}

test("looks: the theme is toggled and stored", async () => {
  const server = await serve(textLog("theme.csv", 100));
  await withPage("theme", classic(server), async (page) => {
    await waitForCounters(page);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const picture = () => page.evaluate(() => document.querySelector("#chart canvas").toDataURL());
    const [light, drawn] = [await ground(), await picture()];
    await page.click("#theme-button");
    const dark = await ground();
    assert.notEqual(dark, light);
    // The chart has the theme's colours.
    await page.waitForFunction((before) => document.querySelector("#chart canvas").toDataURL() !== before, drawn);
    await page.reload();
    await waitForCounters(page);
    assert.equal(await ground(), dark, "remembered");
    await page.keyboard.press("t");
    assert.equal(await ground(), light);
  });
  await server.stop();
});

test("looks: on a phone nothing is wider than the screen, and touch zooms", async () => {
  const server = await serve(textLog("phone.csv", 3000));
  await withPage("phone", classic(server), async (page) => {
    await waitForCounters(page);
    const widest = () => page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(await widest(), 360);
    assert.ok((await page.locator("#chart").boundingBox()).height > 200);
    // Drag a finger over the chart.
    const box = await plotBox(page);
    const y = box.y + box.height / 2;
    const finger = async (points) => {
      const session = await page.context().newCDPSession(page);
      const send = (type, touchPoints) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
      const at = (share, id) => ({ x: box.x + box.width * share, y, id });
      await send("touchStart", points[0].map(at));
      for (const shares of points) await send("touchMove", shares.map(at));
      await send("touchEnd", []);
      await session.detach();
    };
    await finger([[0.2], [0.25], [0.5], [0.7]]);
    const dragged = await rangeAfter(page, null);
    assert.ok(dragged.end - dragged.begin > 1_200_000 && dragged.end - dragged.begin < 1_800_000, JSON.stringify(dragged));
    // Spread two fingers.
    await finger([[0.4, 0.6], [0.3, 0.7], [0.1, 0.9]]);
    const pinched = await rangeAfter(page, dragged);
    assert.ok(pinched.end - pinched.begin < (dragged.end - dragged.begin) / 2, JSON.stringify(pinched));
    await page.click("#add-button");
    assert.equal(await widest(), 360);
    await page.click("#tree-close");
  }, { width: 360, height: 740, hasTouch: true, isMobile: true });
  await server.stop();
});

test("looks: a long log shows averages with min-max bands, and all three values at the pointer", async () => {
  const server = await serve(textLog("long.csv", 20000));
  await withPage("band", classic(server), async (page) => {
    await waitForCounters(page);
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.6);
    await page.waitForSelector("#hover:not([hidden])");
    assert.match(await page.textContent("#hover thead"), /AverageMinimumMaximum/);
    const summary = await page.textContent("#chart-summary");
    assert.match(summary, /average [\d,.]+, minimum [\d,.]+, maximum [\d,.]+\./);
    await drag(page, 0.3, 0.6);
    await rangeAfter(page, null);
  });
  await server.stop();
});
