// Faults that users found, each with a test.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { classic, legend, legendThat, PATIENCE, plotBox, pointAt, saved, scratch, serve, test, withPage } from "./harness.mjs";
import { panelLink, recordedLog, textLog } from "./logs.mjs";

/** A text log of these columns: `{path: [values]}`, one sample per second. A missing value is a blank. */
function logOf(name, columns) {
  const file = path.join(scratch, name);
  const paths = Object.keys(columns);
  const rows = columns[paths[0]].map((_, row) => `"03/05/2024 10:00:${String(row).padStart(2, "0")}.000",${paths.map((one) => `"${columns[one][row] ?? " "}"`).join(",")}`);
  fs.writeFileSync(file, [`"(PDH-CSV 4.0) (UTC)(0)",${paths.map((one) => `"\\\\WEB1${one}"`).join(",")}`, ...rows, ""].join("\r\n"));
  return file;
}

test("faults: counters with very long names are shown and exported", async () => {
  const name = "日".repeat(1000);
  const long = `\\Thing(${name})\\Number`;
  const server = await serve(logOf("long-name.csv", { [long]: [1, 2, 3], "\\Thing(short)\\Number": [4, 5, 6] }));
  await withPage("long-name", `${server.url}#${new URLSearchParams({ path: "\\Thing(*)\\Number" })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "both counters");
    const csv = fs.readFileSync((await saved(page, "#save-csv")).path, "utf8");
    assert.ok(csv.includes(name) && csv.includes("(short)"));
    // If one counter is hidden, the request names the other one.
    await page.uncheck("#legend-body tr:has-text('short') input");
    const alone = fs.readFileSync((await saved(page, "#save-csv")).path, "utf8");
    assert.ok(alone.includes(name) && !alone.includes("(short)"));
  });
  await server.stop();
});

test("faults: a value without neighbours is visible", async () => {
  const values = Array.from({ length: 59 }, (_, index) => (index === 30 ? 5 : null));
  const server = await serve(logOf("isolated.csv", { "\\Thing(a)\\Number": values, "\\Thing(b)\\Number": values.map(() => 0) }));
  await withPage("isolated", `${server.url}#${new URLSearchParams({ path: "\\Thing(a)\\Number" })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 1 && rows[0].average === "5.000", "the value");
    await page.waitForSelector("#chart canvas");
    // Counts the pixels with the line's colour.
    const coloured = () => page.evaluate(() => {
      const canvas = document.querySelector("#chart canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const ink = document.querySelector("#legend-body .swatch line").getAttribute("stroke");
      const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(ink.slice(at, at + 2), 16));
      const isInk = (at) => Math.abs(data[at] - red) < 25 && Math.abs(data[at + 1] - green) < 25 && Math.abs(data[at + 2] - blue) < 25;
      let count = 0;
      for (let at = 0; at < data.length; at += 4) if (isInk(at)) count += 1;
      return count;
    });
    let found = 0;
    for (const end = Date.now() + PATIENCE; found < 8 && Date.now() < end; ) found = await coloured();
    assert.ok(found >= 8 && found < 200, `${found} pixels`);
  });
  await server.stop();
});

test("faults: the source menu closes when a log is chosen", async () => {
  const folder = path.join(scratch, "closing");
  fs.mkdirSync(folder, { recursive: true });
  fs.copyFileSync(textLog("chosen.csv", 60), path.join(folder, "chosen.csv"));
  const server = await serve(folder);
  await withPage("menu-closes", server.url, async (page) => {
    await page.click("#source-menu summary");
    await page.click("#log-list button:has-text('chosen.csv')");
    await page.waitForFunction(() => !document.getElementById("source-menu").open);
    await page.waitForFunction(() => document.getElementById("source-names").textContent.endsWith("chosen.csv"));
  });
  await server.stop();
});

test("faults: a log without samples shows no time of 1970", async () => {
  const server = await serve(logOf("no-rows.csv", { "\\Thing(a)\\Number": [] }));
  await withPage("no-rows", `${server.url}#${new URLSearchParams({ path: "\\Thing(a)\\Number" })}`, async (page) => {
    await page.waitForFunction(() => !document.getElementById("chart-empty").hidden && document.getElementById("chart-empty").textContent.length > 5 && !document.getElementById("chart-empty").textContent.includes("Reading"));
    assert.ok(!(await page.evaluate(() => document.body.innerText)).includes("1970"));
  });
  await server.stop();
});

test("faults: the labels of a saved picture are inside the picture", async () => {
  const server = await serve(await recordedLog());
  await withPage("labels-inside", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    const outside = await page.evaluate((source) => {
      const holder = document.createElement("div");
      holder.append(document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true));
      document.body.append(holder);
      const picture = holder.firstElementChild.getBoundingClientRect();
      const texts = [...holder.querySelectorAll("text")].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < picture.left || box.right > picture.right || box.bottom > picture.bottom;
      });
      const found = texts.map((text) => text.textContent);
      holder.remove();
      return found;
    }, svg);
    assert.deepEqual(outside, []);
  });
  await server.stop();
});

test("faults: in a narrow window every row of the legend can be removed", async () => {
  const server = await serve(await recordedLog());
  await withPage("narrow", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    const before = (await legend(page)).length;
    const button = await page.locator("#legend-body .remove").first().boundingBox();
    const box = await page.locator("#legend").boundingBox();
    assert.ok(button.x + button.width <= box.x + box.width && button.x >= box.x, JSON.stringify([button, box]));
    await page.mouse.click(button.x + button.width / 2, button.y + button.height / 2);
    await legendThat(page, (rows) => rows.length === before - 1, "one row fewer");
  }, { width: 800, height: 700 });
  await server.stop();
});

test("faults: on a phone the chart is near the top, and the box does not cover it", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("phone-top", server.url, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel .u-over").length >= 4);
    // A message, such as one about late samples, may be above the panels for a while.
    await page.waitForFunction(() => document.querySelector("#panels .panel").getBoundingClientRect().top < 150);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await page.waitForFunction(() => [...document.querySelectorAll(".legend-value")].some((value) => value.dataset.value !== ""));
    // The first values can change the height of legends, and so move the plot away from the pointer, so both boxes are read at one time.
    let plot, box;
    for (let step = 0; !box; step++) {
      if (step > PATIENCE / 100) {
        const at = await page.evaluate(({ x, y, width, height }) => document.elementFromPoint(x + width * 0.97, y + height / 2)?.outerHTML.slice(0, 500), plot);
        assert.fail(`no box over ${JSON.stringify(plot)}, where the page has ${at}`);
      }
      plot = await page.locator(".panel .u-over").first().boundingBox();
      await page.mouse.move(plot.x + plot.width * (0.98 - (step % 2) / 50), plot.y + plot.height / 2);
      await page.waitForTimeout(100);
      [plot, box] = await page.evaluate(() => {
        const rectangle = (element) => element.getBoundingClientRect().toJSON();
        const hover = document.getElementById("hover");
        return [rectangle(document.querySelector(".panel .u-over")), hover.hidden ? null : rectangle(hover)];
      });
    }
    assert.ok(box.y >= plot.y + plot.height || box.y + box.height <= plot.y, JSON.stringify([box, plot]));
  }, { width: 360, height: 740 });
  await server.stop();
});

test("faults: the nearest line is marked although the chart has moved under the pointer", async () => {
  const server = await serve(logOf("moved.csv", { "\\Process(high)\\% Processor Time": Array(60).fill(80), "\\Process(low)\\% Processor Time": Array(60).fill(20) }));
  const panel = { title: "Moved", counters: [{ path: "\\Process(*)\\% Processor Time" }] };
  await withPage("moved", `${server.url}#${panelLink(panel, { ...panel, title: "Below" })}`, async (page) => {
    const box = () => page.locator(".panel .u-over").first().boundingBox();
    const nearestAt = async (across, down) => {
      const plot = await box();
      await pointAt(page, plot.x + plot.width * across, plot.y + plot.height * down, (text) => text !== "");
      return page.textContent("#hover tr.nearest");
    };
    assert.match(await nearestAt(0.3, 0.8), /low/);
    const { height } = await box();
    // The pointer stays on the plot, and is then near the other line.
    await page.evaluate((shift) => (document.getElementById("panels").style.paddingTop = `${shift}px`), height * 0.6);
    assert.match(await nearestAt(0.5, 0.2), /high/);
  });
  await server.stop();
});

test("faults: sign-in shows no error before the first attempt, and users can log out", async () => {
  const file = path.join(scratch, "token-2");
  fs.writeFileSync(file, "another-secret-of-the-tests\n", { mode: 0o600 });
  const server = await serve("--token-file", file, "-c", "\\Memory\\Available Bytes");
  await withPage("signing-in", server.url, async (page) => {
    await page.waitForSelector("#token-dialog[open]");
    assert.doesNotMatch(await page.textContent("#token-dialog"), /wrong|missing/);
    await page.fill("#token-field", "another-secret-of-the-tests");
    await page.press("#token-field", "Enter");
    await legendThat(page, (rows) => rows.length === 1, "the counter");
    const cookies = await page.context().cookies();
    await page.click("#log-out");
    await page.waitForSelector("#token-dialog[open]");
    // The session has ended on the server too.
    await page.context().addCookies(cookies);
    assert.equal((await page.request.get(`${server.url}api/sources`)).status(), 401);
  }, { allowed: /status of 401/ });
  await server.stop();
});

test("faults: counters are found by the metric names of other tools", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("synonyms", `${server.url}#open=classic`, async (page) => {
    await page.keyboard.press("a");
    for (const [words, counter] of [["iowait", "% IO Wait Time"], ["r_await", "Avg. Disk sec/Read"], ["oom", null]]) {
      await page.fill("#tree-search", words);
      await page.waitForFunction(([name]) => {
        const state = document.getElementById("tree-state").textContent;
        const found = [...document.querySelectorAll("#tree [aria-level='2'] .tree-name")].map((item) => item.textContent);
        return /result/.test(state) && (name === null || found.includes(name));
      }, [counter]);
    }
    // The tree also finds whole views.
    await page.fill("#tree-search", "disk");
    await page.dblclick("#tree .tree-row:has-text('View: Disk') .tree-name");
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel").length > 3);
  });
  await server.stop();
});

test("faults: a legend is filtered, limited, and reduced to one counter", async () => {
  const columns = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`\\Thing(t${index})\\Number`, [index, index + 1, index + 2]]));
  const server = await serve(logOf("many.csv", columns));
  await withPage("legend-filter", `${server.url}#${new URLSearchParams({ path: "\\Thing(*)\\Number" })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 20 && rows[0].average !== "---", "all");
    // The first click sorts numbers in descending order.
    await page.click("#legend-head th[data-column=average] button");
    await legendThat(page, (rows) => rows[0].instance === "t19", "the largest first");
    await page.fill("#legend-top", "3");
    await page.press("#legend-top", "Enter");
    await legendThat(page, (rows) => rows.map((row) => row.instance).join() === "t19,t18,t17", "the largest three");
    await page.fill("#legend-filter", "t1");
    await legendThat(page, (rows) => rows.map((row) => row.instance).join() === "t19,t18,t17", "three of those with t1");
    await page.fill("#legend-top", "");
    await page.press("#legend-top", "Enter");
    await legendThat(page, (rows) => rows.length === 11, "t1, t10 to t19");
    await page.waitForFunction(() => location.hash.includes("filter=t1"));
    await page.click("#legend-body tr:nth-child(2) th");
    await page.keyboard.press("n");
    await page.waitForFunction(() => document.querySelectorAll("#legend-body input:checked").length === 1);
    await page.keyboard.press("n");
    await page.waitForFunction(() => document.querySelectorAll("#legend-body input:checked").length === 11);
    assert.ok(await plotBox(page));
  });
  await server.stop();
});
