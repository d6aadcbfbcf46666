// The grid of panels: the overview, moving and resizing, kinds, tables, views, typed times.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { iso, legendThat, PATIENCE, rangeAfter, rangeOf, saved, scratch, serve, showAs, shown, tacho, test, withPage } from "./harness.mjs";
import { recordedLog, textLog } from "./logs.mjs";

const titles = (page) => page.$$eval("#panels .panel-title", (all) => all.map((title) => title.textContent));
const titlesAre = (page, expected) => page.waitForFunction((wanted) => JSON.stringify([...document.querySelectorAll("#panels .panel-title")].map((title) => title.textContent)) === wanted, JSON.stringify(expected));
/** The figures of the panels' legends: `[panel, name, value]`. */
const figures = (page) => page.$$eval("#panels .panel", (panels) => panels.flatMap((panel) => [...panel.querySelectorAll(".legend-line")].map((line) => [panel.querySelector(".panel-title").textContent, line.title.split("\n")[0], line.querySelector(".legend-value").dataset.value, line.querySelector(".legend-value").textContent])));

test("panels: this machine opens with the overview, each chart with its unit", async () => {
  const server = await serve("--interval", "0.2");
  await withPage("overview", server.url, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel .u-over").length >= 5);
    const names = await titles(page);
    for (const title of ["All processors", "Memory", "Disk throughput", "Disk latency", "Network"]) assert.ok(names.includes(title), names.join());
    await page.waitForFunction(() => [...document.querySelectorAll(".legend-value")].filter((value) => value.dataset.value !== "").length > 8);
    const found = await figures(page);
    const unitOf = { "All processors": / %$/, Memory: / ([KMGT]i)?B$/, "Disk throughput": / [kMG]?B\/s$/, "Disk latency": /( [mµn]?s|---)$/, Network: / [kMG]?B\/s$/ };
    for (const [panel, name, , text] of found) if (unitOf[panel]) assert.match(text, unitOf[panel], `${panel}: ${name}`);
    // The page is not wider than the window.
    assert.equal(await page.evaluate(() => document.getElementById("content").scrollWidth <= document.documentElement.clientWidth), true);
    // All charts show the same crosshair.
    const plot = page.locator(".panel .u-over").first();
    for (let attempt = 0; !(await page.locator("#hover").isVisible()); attempt += 1) {
      assert.ok(attempt < 100, "the pointer shows no values");
      // Legends can grow and thereby move the plot away from the pointer.
      const { width, height } = await plot.boundingBox();
      await plot.hover({ position: { x: width * (0.9 - (attempt % 5) / 100), y: height / 2 } });
    }
    const lefts = await page.$$eval(".panel .u-cursor-x", (all) => all.map((line) => line.style.transform));
    assert.ok(lefts.length >= 5 && lefts.every((left) => !left.includes("-10px")), lefts.join());
  });
  await server.stop();
});

test("panels: a page begins with the values that the server collected before", async () => {
  const server = await serve("--interval", "0.1");
  const live = async () => (await fetch(`${server.url}api/sources/live`)).json();
  // The server collects without a client.
  while ((await live()).samples < 40) await new Promise((resolve) => setTimeout(resolve, 100));
  await withPage("history", server.url, async (page) => {
    await page.waitForFunction(() => [...document.querySelectorAll(".legend-value")].some((value) => value.dataset.value !== ""));
    const response = await page.request.get(`${server.url}api/sources/live/series?${new URLSearchParams({ path: "\\Processor Information(_Total)\\% User Time", columns: 1 })}`);
    const { series } = await response.json();
    assert.ok(series[0].statistics.values >= 39, JSON.stringify(series[0].statistics));
  });
  await server.stop();
});

test("panels: a log's panels have the figures of tacho stats, also for zoomed and typed ranges", async () => {
  const log = await recordedLog();
  const server = await serve(log);
  const stats = async (range) => JSON.parse(await tacho("stats", log, ...(range ? ["-b", iso(range.begin), "-e", iso(range.end)] : []), "-f", "json"));
  const equal = async (page, range) => {
    const expected = await stats(range);
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await figures(page);
      const wrong = found.filter(([, name, value]) => Number(value) !== expected.find((line) => line.path === name)?.average);
      if (found.length >= 3 && !wrong.length) return;
      assert.ok(Date.now() < end, JSON.stringify(wrong.slice(0, 3)));
      await page.waitForTimeout(50);
    }
  };
  await withPage("log-overview", server.url, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel .u-over").length >= 3);
    await equal(page, null);
    // Dragging over one panel zooms all panels, and shows the selected range.
    const box = await page.locator(".panel .u-over").nth(1).boundingBox();
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.25, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
    const selected = await page.locator(".selection:visible").boundingBox();
    assert.ok(Math.abs(selected.width - box.width * 0.25) < 3, JSON.stringify(selected));
    await page.mouse.move(box.x + box.width * 0.6, y, { steps: 4 });
    assert.ok(Math.abs((await page.locator(".selection:visible").boundingBox()).width - box.width * 0.35) < 3);
    await page.mouse.up();
    const range = await rangeAfter(page, null);
    assert.equal(await page.locator(".selection:visible").count(), 0);
    await equal(page, range);
    // A typed range: the last two seconds.
    await page.keyboard.press("r");
    await page.fill("#from-field", "-2s");
    await page.fill("#to-field", "end");
    await page.press("#to-field", "Enter");
    const typed = await rangeAfter(page, range);
    assert.ok(Math.abs(typed.end - typed.begin - 2000) <= 1, JSON.stringify(typed));
    await equal(page, typed);
    await page.click("#time-menu > summary");
    await page.fill("#from-field", "yesterday");
    await page.press("#from-field", "Enter");
    await page.waitForFunction(() => /is not a time/.test(document.getElementById("time-error").textContent));
    assert.equal(await page.getAttribute("#from-field", "aria-invalid"), "true");
    assert.deepEqual(await rangeOf(page), typed);
  });
  await server.stop();
});

test("panels: keyboard and mouse can move, resize, remove and open panels", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("arranged", server.url, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel").length >= 5);
    const names = await titles(page);
    await page.focus("#panels .panel:first-child");
    await page.keyboard.press("Shift+ArrowRight");
    const moved = [names[1], names[0], ...names.slice(2)];
    await titlesAre(page, moved);
    await page.waitForFunction((title) => document.activeElement.getAttribute("aria-label") === title, names[0]);
    const width = async (title) => (await page.locator(`.panel[aria-label="${title}"]`).boundingBox()).width;
    const narrow = await width(names[0]);
    await page.keyboard.press("w");
    await page.waitForFunction(([title, before]) => document.querySelector(`.panel[aria-label="${title}"]`).getBoundingClientRect().width > before * 1.5, [names[0], narrow]);
    await page.keyboard.press("W");
    // By mouse: drag the handle of the first panel over the third panel.
    const first = page.locator(".panel").first();
    await first.hover();
    const handle = await first.locator(".panel-handle").boundingBox();
    const target = await page.locator(".panel").nth(2).boundingBox();
    await page.mouse.move(handle.x + 4, handle.y + 4);
    await page.mouse.down();
    await page.mouse.move(target.x + target.width / 2, target.y + target.height / 2, { steps: 5 });
    await page.mouse.up();
    await titlesAre(page, [moved[1], moved[2], moved[0], ...moved.slice(3)]);
    // By mouse: drag the corner of the panel to twice its width.
    const sized = page.locator(".panel").first();
    await sized.hover();
    const before = await sized.boundingBox();
    await page.mouse.move(before.x + before.width - 5, before.y + before.height - 5);
    await page.mouse.down();
    await page.mouse.move(before.x + before.width * 1.9, before.y + before.height - 5, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction((was) => document.querySelector(".panel").getBoundingClientRect().width > was * 1.5, before.width);
    // Show one panel alone, and then all panels again.
    await page.focus(".panel:nth-child(2)");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#legend-body tr");
    assert.ok(await page.isHidden("#panels"));
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Escape");
    await page.waitForSelector("#panels:not([hidden])");
    await page.focus(".panel:last-child");
    await page.keyboard.press("Delete");
    await page.waitForFunction((count) => document.querySelectorAll("#panels .panel").length === count, names.length - 1);
    // The link has the arrangement.
    const now = await titles(page);
    await page.waitForFunction((count) => new URLSearchParams(location.hash.slice(1)).getAll("panel").length === count, now.length);
    await page.reload();
    await titlesAre(page, now);
    // Adding a counter in the tree creates a panel.
    await page.keyboard.press("a");
    await page.fill("#path-field", "\\System\\Context Switches/sec");
    await page.press("#path-field", "Enter");
    await titlesAre(page, [...now, "System: Context Switches/sec"]);
  });
  await server.stop();
});

test("panels: the kind, the axis, the range and the limits of a panel change its picture, and each unit has an axis", async () => {
  const server = await serve(await recordedLog());
  const panel = (given) => `panel=${encodeURIComponent(JSON.stringify(given))}`;
  const counters = [{ path: "\\Processor Information(_Total)\\% Processor Time" }, { path: "\\Memory\\Available Bytes" }];
  await withPage("kinds", `${server.url}#${panel({ id: 7, counters, limits: [50] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 2 && rows.every((row) => row.average !== "---"), "both counters");
    const picture = () => page.evaluate(() => document.querySelector("#chart canvas").toDataURL());
    const changes = async (act) => {
      const before = await picture();
      await act();
      await page.waitForFunction((drawn) => document.querySelector("#chart canvas").toDataURL() !== drawn, before);
    };
    await changes(() => showAs(page, "area"));
    await page.click("#panel-menu > summary");
    await changes(() => page.selectOption("#panel-axis", "logarithmic"));
    await changes(() => page.selectOption("#panel-axis", "scaled"));
    await changes(() => page.selectOption("#panel-axis", "linear"));
    await changes(async () => {
      await page.fill("#panel-max", "200");
      await page.press("#panel-max", "Enter");
    });
    await changes(async () => {
      await page.fill("#panel-limits", "20 150");
      await page.press("#panel-limits", "Enter");
    });
    await page.fill("#panel-title", "Both");
    await page.press("#panel-title", "Enter");
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('"title":"Both"'));
    await page.click("#panel-menu > summary");
    const svg = await saved(page, "#save-svg");
    const text = fs.readFileSync(svg.path, "utf8");
    for (const part of ["200 %", "GiB", "Both: "]) assert.ok(text.includes(part), part);
    await showAs(page, "bars");
    await page.waitForSelector("#histogram .bar");
    assert.match(await page.textContent("#histogram"), /Available Bytes.*GiB/);
    await showAs(page, "stacked");
    await page.waitForSelector("#chart canvas");
  });
  await server.stop();
});

test("panels: a table of processes is sorted, filtered and limited", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("table", `${server.url}#open=processes`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length > 5);
    const column = (index) => page.$$eval(".instances tbody tr:not(.reserved)", (rows, at) => rows.map((row) => row.cells[at].dataset.value ?? row.cells[at].textContent), index);
    const heads = await page.$$eval(".instances thead th", (all) => all.map((head) => head.textContent));
    const memory = heads.indexOf("MEMORY");
    assert.ok(memory >= 0, heads.join());
    await page.click(`.instances thead th:nth-child(${memory + 1}) button`);
    await page.waitForSelector(`.instances thead th:nth-child(${memory + 1})[aria-sort=descending]`);
    const values = (await column(memory)).filter(Boolean).map(Number);
    assert.deepEqual(values, [...values].sort((one, other) => other - one));
    await page.fill("#panels .table-top", "3");
    await page.press("#panels .table-top", "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length === 3);
    // A negative number means no limit; other numbers are rounded.
    await page.fill("#panels .table-top", "-5");
    await page.press("#panels .table-top", "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length > 5);
    await page.fill("#panels .table-top", "2.6");
    await page.press("#panels .table-top", "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length === 3);
    await page.fill("#panels .table-filter", "tacho");
    await page.waitForFunction(() => [...document.querySelectorAll(".instances tbody tr")].every((row) => row.textContent.includes("tacho")) && document.querySelector(".instances tbody th"));
  });
  await server.stop();
});

test("panels: a downloaded view can be used by tacho record, and dropped onto the page", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("view-file", `${server.url}#open=disk`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll("#panels .panel").length >= 2);
    const names = await titles(page);
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "downloaded.toml");
    await download.saveAs(file);
    const text = fs.readFileSync(file, "utf8");
    // The command accepts the view file.
    const log = path.join(scratch, "by-view.blg");
    await tacho("record", "--view", file, "-sc", "2", "-si", "0.1", "-o", log, "-y");
    assert.ok(fs.statSync(log).size > 0);
    await page.click("#view-menu > summary");
    await page.click("#server-views [data-view=memory]");
    await page.waitForFunction((before) => document.querySelector(".panel-title").textContent !== before, names[0]);
    const transfer = await page.evaluateHandle((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], "dropped.toml"));
      return data;
    }, text);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    await titlesAre(page, names);
    await page.evaluate(() => document.querySelectorAll(".message").forEach((message) => message.remove()));
    const broken = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["version = 2\nwrong = 1\n"], "broken.toml"));
      return data;
    });
    await page.dispatchEvent("body", "drop", { dataTransfer: broken });
    await page.waitForSelector(".message.error:has-text('broken.toml: the view file, line 2')");
    assert.deepEqual(await titles(page), names);
  }, { allowed: /status of 400/ });
  await server.stop();
});

test("panels: the overview of a link follows the source, and an invalid path does not affect other paths", async () => {
  const log = textLog("follow.csv", 60);
  const server = await serve(log);
  const bad = ["\\Memory\\Available MBytes", "\\No\\Such", "not a path"].map((one) => ["path", one]);
  await withPage("bad-path", `${server.url}#${new URLSearchParams(bad)}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 1 && rows[0].average !== "---", "the valid counter");
    await page.waitForFunction(() => /not a path: .*No.Such|No.Such.*not a path: /s.test(document.getElementById("missing-text").textContent));
  });
  await withPage("follow", `${server.url}#open=overview`, async (page) => {
    await titlesAre(page, ["Memory", "Process", "Processor Information", "System"].filter((title) => title !== "Process"));
    await page.click("#source-menu summary");
    await page.click("#source-list .source-name:has-text('(live)')");
    // The menu closes, and the page shows the overview of this machine.
    await page.waitForFunction(() => !document.getElementById("source-menu").open);
    await page.waitForFunction(() => [...document.querySelectorAll(".panel-title")].some((title) => title.textContent === "Disk latency"));
    assert.equal(shown(0), "0.000");
  });
  await server.stop();
});

test("panels: a view that arrives late does not replace newer panels, and an invalid shared view is reported", async () => {
  const folder = fs.mkdtempSync(path.join(scratch, "views-"));
  fs.writeFileSync(path.join(folder, "Büro (1).toml"), "version = 2\nwrong = 1\n");
  const server = await serve("--interval", "0.5", "--views", folder);
  await withPage(
    "late-view",
    server.url,
    async (page) => {
      await page.waitForFunction(() => document.querySelectorAll("#panels .panel").length >= 5);
      let proceed;
      let asked;
      const isAsked = new Promise((resolve) => (asked = resolve));
      await page.route("**/api/views/disk?*", (route) => {
        proceed = () => route.continue();
        asked();
      });
      await page.evaluate(() => (location.hash = "open=disk"));
      await isAsked;
      const panels = ["Mine", "Yours"].map((title) => JSON.stringify({ title, counters: [{ path: "\\Memory\\Available MBytes" }] }));
      await page.evaluate((fragment) => (location.hash = fragment), new URLSearchParams(panels.map((panel) => ["panel", panel])).toString());
      await titlesAre(page, ["Mine", "Yours"]);
      const answer = page.waitForResponse("**/api/views/disk?*");
      proceed();
      await (await answer).finished();
      await page.waitForTimeout(300);
      assert.deepEqual(await titles(page), ["Mine", "Yours"]);
      await page.evaluate(() => (location.hash = `open=${encodeURIComponent("Büro (1).toml")}`));
      await page.waitForSelector(".message.error:has-text('line 2')");
    },
    { allowed: /status of 4(09|22)/ },
  );
  await server.stop();
});

test("panels: a table requests the last range although an earlier request is slow", async () => {
  const server = await serve("--interval", "0.5");
  const table = { id: 1, kind: "table", table: { set: "Processor", columns: [{ title: "Name" }, { title: "BUSY", counter: "% Processor Time" }] } };
  const set = `panel=${encodeURIComponent(JSON.stringify(table))}`;
  await withPage("table-range", `${server.url}#${set}`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length > 1);
    const asked = [];
    await page.route("**/series?*", (route) => {
      asked.push(new URL(route.request().url()).searchParams.get("begin"));
      if (asked.length > 1) return route.continue();
      return setTimeout(() => route.continue(), 1000);
    });
    const now = Date.now() / 1000;
    const zoom = (begin, end) => page.evaluate((hash) => (location.hash = hash), `${set}&source=live&range=${begin.toFixed(3)}~${end.toFixed(3)}`);
    await zoom(now - 60, now);
    while (!asked.length) await page.waitForTimeout(50);
    await zoom(now - 3, now - 1);
    while (!asked.some((begin) => begin && Math.abs(Date.parse(begin) / 1000 - (now - 3)) < 0.1)) await page.waitForTimeout(50);
  });
  await server.stop();
});
