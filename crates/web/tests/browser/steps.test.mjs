// Back and Forward of the browser, the names of views, links that cannot be shown, and logs that are closed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { drag, legendThat, rangeAfter, rangeOf, scratch, serve, test, withPage } from "./harness.mjs";
import { logOf, panelLink, textLog } from "./logs.mjs";

const LINE = { id: 1, counters: [{ path: "\\Memory\\Available MBytes" }] };
const title = (page) => page.textContent("#view-title");
const titleIs = (page, expected) => page.waitForFunction((text) => document.getElementById("view-title").textContent === text, expected);
const messages = (page) => page.textContent("#messages");
const messageWith = (page, text) => page.waitForFunction((part) => document.getElementById("messages").textContent.includes(part), text);
const hash = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));
/** Waits until the address has been written. */
const addressHas = (page, part, isThere = true) => page.waitForFunction(([text, wanted]) => decodeURIComponent(location.hash).includes(text) === wanted, [part, isThere]);
const colour = (page) => page.getAttribute("#legend-body .swatch line", "stroke");
const entries = (page) => page.evaluate(() => history.length);

async function openView(page, name) {
  await page.click("#view-menu > summary");
  await page.click(`[data-view="${name}"]`);
}

test("steps: Back returns to the range, the view and the source before", async () => {
  const server = await serve(textLog("steps-one.csv", 600));
  const other = textLog("steps-two.csv", 60, { from: 7200 });
  await withPage("steps", `${server.url}#source=~steps-one.csv&${panelLink(LINE)}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 1, "the counter");
    await addressHas(page, "steps-one.csv");
    const first = await entries(page);
    const firstColour = await colour(page);
    // Two zooms are two steps; a drag is one.
    await drag(page, 0.25, 0.75);
    const wide = await rangeAfter(page, null);
    await addressHas(page, "range=");
    await drag(page, 0.25, 0.75);
    const narrow = await rangeAfter(page, wide);
    await page.waitForFunction((begin) => location.hash.includes(`range=${begin}`), (narrow.begin / 1000).toFixed(3));
    assert.equal(await entries(page), first + 2);
    await openView(page, "memory");
    await addressHas(page, "open=memory");
    await page.setInputFiles("#file-field", other);
    await addressHas(page, "steps-two.csv");
    assert.equal(await entries(page), first + 4);

    await page.goBack();
    await page.waitForFunction(() => document.getElementById("source-names").textContent === "steps-one.csv");
    await addressHas(page, "open=memory");
    await page.goBack();
    await addressHas(page, "panel=");
    await legendThat(page, (rows) => rows.length === 1, "the counter again");
    assert.equal(await colour(page), firstColour);
    await page.waitForFunction((range) => document.getElementById("content").dataset.range === range, `${(narrow.begin / 1000).toFixed(3)}~${(narrow.end / 1000).toFixed(3)}`);
    await page.goBack();
    await page.waitForFunction((range) => document.getElementById("content").dataset.range === range, `${(wide.begin / 1000).toFixed(3)}~${(wide.end / 1000).toFixed(3)}`);
    // The history of ranges belongs to the step, and a reload keeps it.
    await page.reload();
    await page.waitForFunction(() => !document.getElementById("zoom-back").disabled);
    assert.deepEqual(await rangeOf(page), wide);
    await page.click("#zoom-back");
    await rangeAfter(page, wide);
    assert.equal(await rangeOf(page), null);
    await addressHas(page, "range=", false);
    await page.goBack();
    assert.deepEqual(await rangeAfter(page, null), wide);
  });
  await server.stop();
});

test("steps: settings replace the step, and removing a panel is one", async () => {
  const server = await serve(textLog("settings.csv", 60));
  await withPage("settings", `${server.url}#${panelLink(LINE, { ...LINE, id: 2 })}`, async (page) => {
    await page.waitForSelector(".panel .legend-line");
    await addressHas(page, "settings.csv");
    const first = await entries(page);
    await page.click("summary:text-is('Display')");
    await page.selectOption("#zone-list", "utc");
    await addressHas(page, "zone=utc");
    assert.equal(await entries(page), first);
    await page.keyboard.press("Escape");
    await page.focus(".panel[data-panel='2']");
    await page.keyboard.press("Delete");
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).getAll("panel").length === 1);
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll(".panel").length === 2);
    assert.equal(hash(page).get("zone"), "utc");
  });
  await server.stop();
});

test("steps: the name of a view is in its link, and a changed view is marked", async () => {
  const server = await serve(textLog("named.csv", 60));
  await withPage("named", `${server.url}#open=overview`, async (page) => {
    await titleIs(page, "Overview");
    await page.waitForSelector(".panel");
    await page.focus(".panel");
    await page.keyboard.press("Delete");
    await titleIs(page, "Overview (changed)");
    await addressHas(page, "changed=1");
    await page.reload();
    await titleIs(page, "Overview (changed)");
    await page.click("#view-menu > summary");
    await page.fill("#view-field", "My two");
    await page.press("#view-field", "Enter");
    await titleIs(page, "My two");
    await addressHas(page, "name=My+two");
    await page.reload();
    await titleIs(page, "My two");
    // Another page with the link.
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    await titleIs(page, "My two");
    await openView(page, "memory");
    await titleIs(page, "Memory");
    await addressHas(page, "name=", false);
    assert.equal(await title(page), "Memory");
    await page.click("#view-menu > summary");
    assert.equal(await page.textContent("#server-views [aria-current]"), "Memory");
    await page.click("#view-list .view-name");
    await titleIs(page, "My two");
    // A name is required, and a known one is replaced with a notice.
    await page.click("#view-menu > summary");
    await page.press("#view-field", "Enter");
    await messageWith(page, "Type a name");
    await page.fill("#view-field", "My two");
    await page.press("#view-field", "Enter");
    await messageWith(page, "Replaced the view “My two”");
  });
  await server.stop();
});

test("steps: parts of a link that cannot be read are named once, and the others apply", async () => {
  const server = await serve(textLog("broken.csv", 600));
  await withPage("broken", `${server.url}#panel=%7Bbroken&${panelLink(LINE)}&range=abc~def&zone=utc&nonsense=1`, async (page) => {
    await legendThat(page, (rows) => rows.length === 1 && rows[0].average !== "---", "the other panel");
    await messageWith(page, "Parts of the link are ignored: ");
    const text = await messages(page);
    for (const part of ["panel={broken", "range=abc~def", "nonsense=1"]) assert.ok(text.includes(part), text);
    assert.equal(await page.locator("#messages .message").count(), 1);
    assert.match(await page.textContent("#range-text"), /UTC/);
  });
  // A link without another panel shows the start view.
  await withPage("broken-only", `${server.url}#panel=%7Bbroken&open=nosuch&range=1709632900.000~1709633000.000`, async (page) => {
    await page.waitForSelector(".panel .legend-line");
    await messageWith(page, "There is no view “nosuch” on this server: the start view is shown.");
    assert.doesNotMatch(await messages(page), /api/);
    await page.waitForFunction(() => document.getElementById("content").dataset.range === "1709632900.000~1709633000.000");
  }, { allowed: /status of 404/ });
  await server.stop();
});

test("steps: closing a log for everybody is confirmed, and other pages say it and open it again", async () => {
  const folder = path.join(scratch, "closing");
  fs.mkdirSync(folder);
  fs.renameSync(textLog("closing.csv", 120), path.join(folder, "closing.csv"));
  const NAME = "closing/closing.csv";
  const server = await serve(folder);
  await withPage("closing", server.url, async (page) => {
    await page.click("#source-menu > summary");
    await page.click(".log:has-text('closing.csv')");
    const names = (expected) => page.waitForFunction((text) => document.getElementById("source-names").textContent === text, expected);
    await names(NAME);
    await addressHas(page, NAME);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.waitForFunction((name) => document.getElementById("source-names").textContent === name, NAME);
    await openView(other, "memory");
    await titleIs(other, "Memory");
    // Removing it from this page leaves it open.
    const open = async () => (await (await page.request.get(`${server.url}api/sources`)).json()).sources.some(({ name }) => name === NAME);
    await page.click("#source-menu > summary");
    await page.click(`[aria-label='Close ${NAME}']`);
    await page.click(".question button:text-is('Remove from this page')");
    await names("No source");
    assert.ok(await open());
    // Closed for everybody, it is closed in the other page, too.
    await page.click(`[aria-label='Close ${NAME}']`);
    await page.click(".question button:text-is('Cancel')");
    assert.ok(await open());
    await page.click(`[aria-label='Close ${NAME}']`);
    await page.click(".question button:text-is('Close for everybody')");
    await page.waitForFunction((name) => !document.querySelector(`[aria-label='Close ${name}']`), NAME);
    assert.ok(!(await open()));
    await openView(other, "cpu");
    await messageWith(other, `No longer open on the server: ${NAME}`);
    await other.waitForFunction(() => /No longer open on the server: closing\/closing\.csv/.test(document.querySelector("#chart-empty:not([hidden])")?.textContent ?? ""));
    // A link to it says so, too, and does not show this machine.
    await page.goto("about:blank");
    await page.goto(`${server.url}#source=99~${NAME}&open=memory`);
    await page.waitForSelector("#open-again:not([hidden])");
    assert.equal(await page.textContent("#source-names"), `${NAME} (not open)`);
    assert.equal(await page.locator("#live-state:not([hidden])").count(), 0);
    await page.reload();
    await page.waitForSelector("#open-again:not([hidden])");
    await page.click("#open-again");
    await names(NAME);
    await page.waitForFunction(() => document.getElementById("view-title").textContent === "Memory" && document.querySelector("#legend-body tr"));
    assert.equal(await page.locator("#open-again:not([hidden])").count(), 0);
    // The other page opens it, too, and shows the view that was chosen meanwhile.
    await other.click("#open-again");
    await other.waitForFunction((name) => document.getElementById("source-names").textContent === name && document.getElementById("view-title").textContent !== "Memory", NAME);
  }, { allowed: /status of 404/ });
  await server.stop();
});

test("steps: a counter that is 0 in one of two logs is shown for both, the second one dashed", async () => {
  const only = [{ path: "\\Network Interface(*)\\Bytes Total/sec", only_active: true }];
  const before = logOf("zero-before.csv", { "\\Network Interface(eth0)\\Bytes Total/sec": () => 0, "\\Network Interface(lo)\\Bytes Total/sec": () => 0 });
  const after = logOf("zero-after.csv", { "\\Network Interface(eth0)\\Bytes Total/sec": (index) => 100 + index, "\\Network Interface(lo)\\Bytes Total/sec": () => 0, "\\Network Interface(eth1)\\Bytes Total/sec": () => 7 });
  const server = await serve(before, after);
  await withPage("zero", `${server.url}#source=~zero-before.csv&source=~zero-after.csv&${panelLink({ id: 1, counters: only })}`, async (page) => {
    const rows = await legendThat(page, (all) => all.length === 3, "eth0 of both logs, and eth1");
    assert.deepEqual(rows.map(({ instance }) => instance).sort(), ["eth0", "eth0", "eth1"]);
    const dashes = await page.$$eval("#legend-body tr", (all) => all.map((row) => [row.textContent.includes("zero-before"), Boolean(row.querySelector(".swatch line")?.getAttribute("stroke-dasharray"))]));
    assert.deepEqual(dashes.sort(), [[false, true], [false, true], [true, false]]);
  });
  await server.stop();
});

test("steps: values beyond a fixed axis are drawn at its edge and marked", async () => {
  const log = logOf("beyond.csv", { "\\Memory\\Available MBytes": (index) => (index < 30 ? 50 : 140), "\\Memory\\Committed Bytes": () => 101 });
  const server = await serve(log);
  const panel = { id: 1, min: 0, max: 100, counters: [{ path: "\\Memory\\Available MBytes", colour: 1 }] };
  await withPage("beyond", `${server.url}#${panelLink(panel, { ...LINE, id: 2, min: 0, max: 200 })}`, async (page) => {
    await page.waitForFunction(() => document.querySelector(".panel[data-panel='1'] .panel-cut")?.textContent === "▲ beyond the axis");
    assert.equal(await page.textContent(".panel[data-panel='2'] .panel-cut"), "");
    await page.click(".panel[data-panel='1'] .panel-title");
    await page.waitForFunction(() => /1 counter drawn at the edge, because its values are beyond the axis/.test(document.getElementById("cut-text").textContent));
    // The line is at the upper edge in the second half.
    const isDrawn = await page.evaluate(() => {
      const canvas = document.querySelector("#chart canvas");
      const over = document.querySelector("#chart .u-over");
      const ratio = canvas.width / canvas.clientWidth;
      const x = Math.round((over.offsetLeft + over.clientWidth * 0.8) * ratio);
      const y = Math.round(over.offsetTop * ratio);
      const { data } = canvas.getContext("2d").getImageData(x, y, 1, Math.ceil(3 * ratio));
      return [...Array(data.length / 4).keys()].some((at) => data[at * 4 + 3] > 100 && data[at * 4 + 2] - data[at * 4] > 60);
    });
    assert.ok(isDrawn);
  });
  await server.stop();
});

test("steps: a view is saved as one picture, and +30s counts from the start", async () => {
  const server = await serve(textLog("picture.csv", 300));
  await withPage("one-picture", `${server.url}#title=Ours&${panelLink(LINE, { id: 2, counters: [{ path: "\\System\\Threads" }] }, { id: 3, counters: [{ path: "\\Processor Information(*)\\*" }] })}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".panel .legend-line").length >= 3);
    const save = async (button) => {
      await page.click("summary:text-is('Export')");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
      const file = path.join(scratch, download.suggestedFilename());
      await download.saveAs(file);
      return { name: download.suggestedFilename(), bytes: fs.readFileSync(file) };
    };
    const svg = await save("#save-view-svg");
    assert.equal(svg.name, "picture - Ours.svg");
    const text = svg.bytes.toString();
    for (const part of ["Available MBytes", "Threads", "% Processor Time"]) assert.ok(text.includes(part), part);
    // Values are not multiplied, so there is no scale.
    assert.ok(!text.includes(">Scale<"), "a scale");
    const png = await save("#save-view-png");
    // Two columns of 1,200 units, two pixels each.
    assert.equal(png.bytes.readUInt32BE(16), 4800);
    await page.click("summary:text-is('Export')");
    assert.match(await page.textContent("#save-csv >> xpath=ancestor::details"), /BLG keeps raw values/);
    await page.keyboard.press("Escape");

    // The menu fills its fields with the visible range when it has opened.
    const openTimes = async () => {
      await page.keyboard.press("r");
      await page.waitForFunction(() => /2024/.test(document.getElementById("from-field").value));
    };
    await openTimes();
    await page.fill("#from-field", "10:01:00");
    await page.fill("#to-field", "+30s");
    await page.press("#to-field", "Enter");
    const at = Date.UTC(2024, 2, 5, 10, 1, 0);
    assert.deepEqual(await rangeAfter(page, null), { begin: at, end: at + 30_000 });
    await openTimes();
    await page.fill("#from-field", "3/5/2024 10:02:00 AM");
    await page.fill("#to-field", "soon");
    await page.press("#to-field", "Enter");
    await page.waitForFunction(() => /“soon” is not a time/.test(document.getElementById("time-error").textContent));
    await page.fill("#to-field", "3/5/2024 10:03:00 AM");
    await page.press("#to-field", "Enter");
    assert.deepEqual(await rangeAfter(page, { begin: at, end: at + 30_000 }), { begin: at + 60_000, end: at + 120_000 });
  });
  await server.stop();
});

test("steps: a view can be built from nothing", async () => {
  const server = await serve(textLog("empty.csv", 60));
  await withPage("empty", server.url, async (page) => {
    await page.waitForSelector(".panel");
    const press = async (id) => {
      await page.click("#view-menu > summary");
      await page.click(id);
    };
    await press("#view-new");
    await page.waitForFunction(() => !document.querySelector("#panels:not([hidden]) .panel") && !/Overview/.test(document.getElementById("view-title").textContent));
    const add = async (path) => {
      await page.keyboard.press("a");
      await page.fill("#path-field", path);
      await page.press("#path-field", "Enter");
      await legendThat(page, (rows) => rows.length === 1, path);
      await page.keyboard.press("Escape");
    };
    await add("\\Memory\\Available MBytes");
    await press("#panel-new");
    await page.waitForFunction(() => document.querySelectorAll("#panels:not([hidden]) .panel").length === 2);
    await page.click(".panel:last-child .panel-title");
    await add("\\System\\Threads");
    await page.click("#panel-back");
    await page.waitForFunction(() => [...document.querySelectorAll(".panel .panel-title")].map(({ textContent }) => textContent).join() === "Memory: Available MBytes,System: Threads");
    await page.goBack();
    await page.waitForSelector("#panels[hidden]", { state: "attached" });
  });
  await server.stop();
});
