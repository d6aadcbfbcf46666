// This machine, live.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { collections, drag, iso, legend, legendIs, legendThat, plotBox, pointAt, rangeAfter, saved, scratch, serve, test, withPage } from "./harness.mjs";

const PATH = "\\Processor Information(*)\\% Processor Time";
const canvas = (page) => page.evaluate(() => document.querySelector("#chart canvas").toDataURL());

/** Performs an action for which the page requests a chart; waits for the response. */
async function chartAfter(page, act) {
  const isChart = (url) => /\/series$/.test(url.pathname) && Number(url.searchParams.get("columns")) > 1;
  const [answer] = await Promise.all([page.waitForResponse((one) => isChart(new URL(one.url()))), act()]);
  await answer.finished();
}

async function freeze(page) {
  await chartAfter(page, () => page.keyboard.press("f"));
  await page.waitForSelector("#live-state[data-state=frozen]");
}

/** The server's statistics of a time range of live data. */
async function statistics(page, url, paths, begin, end) {
  const query = new URLSearchParams([...paths.map((path) => ["path", path]), ["begin", iso(begin)], ["end", iso(end)], ["format", "json"]]);
  const answer = await page.request.get(`${url}api/sources/live/statistics?${query}`);
  assert.equal(answer.status(), 200, await answer.text());
  return answer.json();
}

test("live: a counter added in the tree is updated, frozen and zoomed", async () => {
  const server = await serve("--interval", "0.5", "-c", "\\Memory\\Available Bytes");
  await withPage("live", server.url, async (page) => {
    await page.waitForSelector("#live-state[data-state=live]");
    // Three actions: open the tree, type, Enter.
    await page.keyboard.press("a");
    await page.keyboard.type("processor information % processor time");
    await page.waitForSelector("#tree [role=treeitem]:has-text('% Processor Time')");
    await page.keyboard.press("Enter");
    const { instances } = await (await page.request.get(`${server.url}api/sources/live/instances?set=Processor%20Information`)).json();
    const rows = await legendThat(page, (found) => found.filter((row) => row.set === "Processor Information").length === instances.length, "all instances of the set");
    assert.deepEqual(new Set(rows.filter((row) => row.set === "Processor Information").map((row) => row.instance)), new Set(instances));
    assert.ok(rows.some((row) => row.counter === "Available Bytes"), "earlier counters stay");
    await page.keyboard.press("Escape");
    await legendThat(page, (found) => found.every((row) => row.average !== "---"), "averages of all");

    // The lines move, so the picture and the range change.
    const range = () => page.textContent("#range-text");
    const [picture, before] = [await canvas(page), await range()];
    await page.waitForFunction((then) => document.getElementById("range-text").textContent !== then, before);
    assert.notEqual(await canvas(page), picture, "the chart was redrawn");
    await collections(server.url, PATH, 6);

    // A frozen chart does not change after its first drawing; the statistics are those of the frozen range.
    await page.evaluate(() => {
      window.seen = [];
      const record = () => document.getElementById("live-state").dataset.state === "frozen" && window.seen.push(document.getElementById("range-text").textContent);
      new MutationObserver(record).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    await freeze(page);
    const frozen = await range();
    await collections(server.url, PATH, 3);
    assert.equal(await range(), frozen, "a frozen chart does not change");
    assert.deepEqual(await page.evaluate(() => [...new Set(window.seen)]), [frozen], "the range did not change after the first drawing");

    // After zooming by dragging, the server computes the statistics of the range from its raw values.
    await drag(page, 0.8, 0.999);
    const zoomed = await rangeAfter(page, null);
    assert.ok(zoomed && zoomed.end - zoomed.begin < 60_000, JSON.stringify(zoomed));
    const expected = await statistics(page, server.url, [PATH, "\\Memory\\Available Bytes"], zoomed.begin, zoomed.end);
    await legendIs(page, expected);

    // The visible range can be saved.
    const csv = await saved(page, "#save-csv");
    const lines = fs.readFileSync(csv.path, "utf8").split("\r\n").filter(Boolean);
    assert.ok(lines.length > 2 && lines[0].includes("% Processor Time"), lines.slice(0, 2).join("\n"));

    // Update once, then resume.
    const shown = await range();
    await page.keyboard.press("u");
    await page.waitForFunction((text) => document.getElementById("range-text").textContent !== text, shown);
    await page.waitForSelector("#live-state[data-state=frozen]");
    await page.keyboard.press("f");
    await page.waitForSelector("#live-state[data-state=live]");
  });
  await server.stop();
});

test("live: the page opens with a saved view, and later changes persist", async () => {
  const file = path.join(scratch, "view.toml");
  const processors = "\\Processor Information(*)\\% Processor Time";
  fs.writeFileSync(
    file,
    `version = 1
interval = 0.2
points = 30
[[counter]]
path = '\\Memory\\Available Bytes'
scale = -8
colour = 5
highlighted = true
[[counter]]
path = '${processors}'
shown = false
scale = 1
except = ['${processors.replace("*", "_Total")}']
`,
  );
  const server = await serve("--view", file);
  const asWritten = (rows) => {
    const [memory, ...others] = rows;
    return memory?.counter === "Available Bytes" && memory.scale === "-8" && others.length > 0 && others.every((row) => row.counter === "% Processor Time" && row.scale === "1" && row.instance !== "_Total");
  };
  await withPage("view", server.url, async (page) => {
    const rows = await legendThat(page, asWritten, "the counters and scales of the view");
    const boxes = await page.$$eval("#legend-body input[type=checkbox]", (all) => all.map((box) => box.checked));
    assert.deepEqual(boxes, rows.map((row) => row.counter === "Available Bytes"), "what is shown");
    await page.waitForFunction(() => document.getElementById("value-duration").textContent === "6 s");
    assert.equal((await (await page.request.get(`${server.url}api/sources/live`)).json()).interval, 0.2);
    await page.selectOption("#legend-body tr:has-text('Available Bytes') select", "-6");
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("~-6~"));
    await legendThat(page, (found) => found[0].scale === "-6", "the chosen scale");
    await page.reload();
    await legendThat(page, (found) => found[0]?.scale === "-6" && found.length === rows.length, "the same after loading the page again");
  });
  await server.stop();
});

test("live: the page can use every third collection, and few points", async () => {
  const server = await serve("--interval", "0.2", "-c", "\\Processor Information(_Total)\\% Processor Time");
  await withPage("live-every", server.url, async (page) => {
    await page.waitForSelector("#live-state[data-state=live]");
    await page.click("summary:text-is('Display')");
    await page.fill("#every-field", "3");
    await page.press("#every-field", "Enter");
    await page.fill("#points-field", "10");
    await page.press("#points-field", "Enter");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.getElementById("value-duration").textContent === "6 s");
    await legendThat(page, (rows) => rows.length === 1 && rows[0].average !== "---", "an average");
    // Values out of range are ignored.
    await page.click("summary:text-is('Display')");
    await page.fill("#points-field", "1");
    await page.press("#points-field", "Enter");
    await page.keyboard.press("Escape");
    assert.equal(await page.textContent("#value-duration"), "6 s");
  });
  await server.stop();
});

test("live: a frozen chart stays when the server has discarded its samples", async () => {
  const server = await serve("--interval", "0.005", "-c", "\\Memory\\Available Bytes", "-c", "\\System\\Context Switches/sec");
  await withPage("frozen-gone", server.url, async (page) => {
    await page.waitForSelector("#live-state[data-state=live]");
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "averages");
    // Wait until the window is full, so that each part of it has samples.
    await collections(server.url, "\\Memory\\Available Bytes", 101);
    await freeze(page);
    // Wait until the ring has no sample of the frozen range.
    const frozenAt = Date.now();
    const isGone = async () => Date.parse((await (await page.request.get(`${server.url}api/sources/live`)).json()).begin) > frozenAt;
    while (!(await isGone())) await page.waitForTimeout(200);
    const rows = await legendThat(page, (found) => found.every((row) => row.average !== "---"), "figures of the frozen chart");

    // A narrower window requests the chart again.
    const picture = await canvas(page);
    await chartAfter(page, () => page.setViewportSize({ width: 700, height: 800 }));
    await page.waitForFunction((then) => document.querySelector("#chart canvas").toDataURL() !== then, picture);
    assert.deepEqual(await legend(page), rows, "figures of the frozen range stay");
    assert.ok(await page.isHidden("#chart-empty"));
    assert.equal(await page.textContent("#missing-text"), "");

    // A part of the range has no statistics, and a message says so.
    await page.keyboard.press("+");
    await page.waitForFunction(() => /no longer has the samples/.test(document.getElementById("missing-text").textContent));
    assert.deepEqual((await legend(page)).map((row) => [row.counter, row.average]), rows.map((row) => [row.counter, "---"]));
    await page.keyboard.press("0");
    await legendThat(page, (found) => JSON.stringify(found) === JSON.stringify(rows), "the figures of the whole range again");
    await page.waitForFunction(() => document.getElementById("missing-text").textContent === "");

    // A new page shows that there are no samples.
    await page.keyboard.press("+");
    await page.waitForFunction(() => location.hash.includes("range="));
    await page.reload();
    await page.waitForFunction(() => /no samples in this time range/.test(document.getElementById("chart-empty").textContent));
    await page.keyboard.press("f");
    await legendThat(page, (found) => found.length === 2 && found.every((row) => row.average !== "---"), "live figures");
  });
  await server.stop();
});

test("live: a range before the first sample shows a message", async () => {
  const server = await serve("--interval", "0.1", "-c", "\\Memory\\Available Bytes");
  await withPage("before-first", `${server.url}#points=1000`, async (page) => {
    const rows = await legendThat(page, (found) => found.length === 1 && found[0].average !== "---", "an average");
    await freeze(page);
    await page.keyboard.press("r");
    await page.fill("#from-field", "-2h");
    await page.fill("#to-field", "-1h");
    await page.press("#to-field", "Enter");
    await page.waitForFunction(() => document.getElementById("chart-empty").textContent .startsWith("There are no samples in this time range. The data is from "));
    assert.ok(await page.isVisible("#chart-empty"));
    assert.equal(await page.textContent("#missing-text"), "");
    await page.keyboard.press("0");
    await legendThat(page, (found) => found.length === 1 && found[0].counter === rows[0].counter && found[0].average !== "---", "the figures of the whole range");
    assert.ok(await page.isHidden("#chart-empty"));
  });
  await server.stop();
});

/** Waits until the displayed range has changed twice. */
async function waitForTwoUpdates(page) {
  for (let time = 0; time < 2; time += 1) {
    const text = await page.textContent("#range-text");
    await page.waitForFunction((then) => document.getElementById("range-text").textContent !== then, text);
  }
}

/** Makes a page visible or hidden for its scripts, because a browser without a screen treats all pages as visible. */
const setVisible = (page, isSeen) => page.evaluate((isHidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event("visibilitychange"));
}, !isSeen);

test("live: eight tabs of one browser are updated", async () => {
  const server = await serve("--interval", "0.2", "-c", "\\Memory\\Available Bytes", "-c", "\\System\\Context Switches/sec");
  await withPage("tabs", server.url, async (first) => {
    const pages = [first];
    while (pages.length < 8) {
      const page = await first.context().newPage();
      await page.goto(server.url);
      pages.push(page);
    }
    for (const page of pages) await page.waitForSelector("#live-state[data-state=live]");
    await Promise.all(pages.map(waitForTwoUpdates));
    // Only three tabs have streams, so that connections remain for other requests.
    const streams = (count) => first.waitForFunction(async (wanted) => (await navigator.locks.query()).held.length === wanted, count);
    await streams(3);

    // A hidden tab releases its stream to a visible one. When it becomes visible again, it is updated immediately.
    const last = pages.at(-1);
    const hidden = pages.slice(0, 7);
    const taken = last.waitForRequest((request) => request.url().includes("/api/stream"));
    await Promise.all(hidden.map((page) => setVisible(page, false)));
    await taken;
    await waitForTwoUpdates(last);
    await streams(1);
    await Promise.all(hidden.map((page) => setVisible(page, true)));
    await Promise.all(pages.map(waitForTwoUpdates));
    await streams(3);
    // A closed tab releases its stream.
    await last.close();
    await streams(3);
    await Promise.all(hidden.map(waitForTwoUpdates));
  });
  await server.stop();
});

test("live: without navigator.locks, a tab has a stream while it is visible", async () => {
  const server = await serve("--interval", "0.2", "-c", "\\Memory\\Available Bytes");
  await withPage("no-locks", server.url, async (page) => {
    const stream = (request) => request.url().includes("/api/stream");
    await page.waitForSelector("#live-state[data-state=live]");
    await waitForTwoUpdates(page);
    await Promise.all([page.waitForEvent("requestfailed", stream), setVisible(page, false)]);
    await Promise.all([page.waitForRequest(stream), setVisible(page, true)]);
    await waitForTwoUpdates(page);
  }, { prepare: () => Object.defineProperty(navigator, "locks", { value: undefined }) });
  await server.stop();
});

/** Opens a page with a chart of one counter, whose stream begins several collections after the response with the ring. */
const withLateStream = async (name, act) => {
  const server = await serve("--interval", "1", "-c", "\\Memory\\Available Bytes");
  const panel = { id: 1, counters: [{ path: "\\Memory\\Available Bytes" }] };
  await collections(server.url, panel.counters[0].path, 3);
  await withPage(name, `${server.url}assets/icon.svg`, async (page) => {
    await page.route(/\/api\/stream/, async (route) => {
      await collections(server.url, panel.counters[0].path, 4);
      await route.continue();
    });
    await page.goto(`${server.url}#points=600&panel=${encodeURIComponent(JSON.stringify(panel))}`);
    await page.waitForSelector("#live-state[data-state=live]");
    await legendThat(page, (rows) => rows.length === 1 && rows[0].last !== "---", "a value");
    await act(page, () => collections(server.url, panel.counters[0].path, 3));
  });
  await server.stop();
};

test("live: samples between the first response and the stream are shown", () =>
  withLateStream("live-begin", async (page) => {
    const before = await page.textContent("#range-text");
    await page.waitForFunction((then) => document.getElementById("range-text").textContent !== then, before);
    await page.keyboard.press("f");
    await page.waitForSelector("#live-state[data-state=frozen]");
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    const line = /<path[^>]* d="([^"]+)"[^>]*stroke-width="1\.5"/.exec(svg) ?? /<path[^>]*stroke-width="1\.5"[^>]* d="([^"]+)"/.exec(svg);
    assert.ok(line, svg.slice(0, 3000));
    assert.equal(line[1].match(/M/g).length, 1, "the line has no gap");
  }));

test("live: lines continue after the ring was loaded again because of missing samples", () =>
  withLateStream("live-continued", async (page, moreSamples) => {
    await moreSamples();
    const plot = await plotBox(page);
    assert.match(await pointAt(page, plot.x + plot.width * 0.99, plot.y + plot.height / 2, (text) => text !== ""), /Available Bytes/);
  }));
