// Figures of the page compared with the command: open ranges, percentiles, sums over names, properties of processes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { legendThat, PATIENCE, rangeAfter, saved, scratch, serve, tacho, test, withPage } from "./harness.mjs";
import { recordedLog, textLog } from "./logs.mjs";

const panelLink = (...panels) => panels.map((panel) => `panel=${encodeURIComponent(JSON.stringify(panel))}`).join("&");

/** Drops a file onto the page. */
async function drop(page, name, text) {
  const transfer = await page.evaluateHandle(([file, content]) => {
    const data = new DataTransfer();
    data.items.add(new File([content], file));
    return data;
  }, [name, text]);
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

/** The figures of a column of the legend with all digits: `[path, value]` for each row. */
const column = (page, name) => page.$$eval("#legend-body tr", (rows, id) => rows.map((row) => [row.title, row.querySelector(`[data-column="${id}"]`)?.dataset.value]), name);

/** Waits until columns of the legend have the figures of `tacho stats -f json`, with all digits. */
async function columnsAre(page, expected, names) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const wrong = [];
    let count = 0;
    for (const name of names) {
      for (const [full, value] of await column(page, name)) {
        const wanted = expected.find((line) => line.path === full);
        count += 1;
        if (!wanted || value !== String(wanted[name] ?? "")) wrong.push([name, full, value, wanted?.[name]]);
      }
    }
    if (count >= expected.length * names.length && !wrong.length) return;
    assert.ok(Date.now() < end, `${count} figures, wrong: ${JSON.stringify(wrong.slice(0, 4))}`);
    await page.waitForTimeout(100);
  }
}

test("figures: a range with only one end can be typed, and is kept in links and view files", async () => {
  const log = textLog("one-end.csv", 600);
  const server = await serve(log);
  const stats = async (...range) => JSON.parse(await tacho("stats", log, ...range, "-f", "json"));
  const names = ["average", "minimum", "maximum", "last"];
  await withPage("one-end", `${server.url}#${panelLink({ id: 1, counters: ["\\System\\Threads", "\\Memory\\Available MBytes", "\\Processor Information(_Total)\\% Processor Time"].map((one) => ({ path: one })) })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 3 && rows[0].average !== "---", "the log's counters");
    await page.keyboard.press("r");
    await page.fill("#from-field", "10:05");
    await page.fill("#to-field", "");
    await page.press("#to-field", "Enter");
    const from = await rangeAfter(page, null);
    assert.equal(from.begin, Date.UTC(2024, 2, 5, 10, 5));
    await page.waitForFunction(() => /range=\d+\.000%7E(&|$)/.test(location.hash));
    await columnsAre(page, await stats("-b", "2024-03-05T10:05:00"), names);
    await page.reload();
    await columnsAre(page, await stats("-b", "2024-03-05T10:05:00"), names);
    await page.keyboard.press("r");
    assert.equal(await page.inputValue("#to-field"), "");
    await page.fill("#from-field", "");
    await page.fill("#to-field", "10:02");
    await page.press("#to-field", "Enter");
    await columnsAre(page, await stats("-e", "2024-03-05T10:02:00"), names);
    await page.keyboard.press("r");
    await page.fill("#from-field", "11:00");
    await page.fill("#to-field", "");
    await page.press("#to-field", "Enter");
    await page.waitForFunction(() => /before the end/.test(document.getElementById("time-error").textContent));
    await page.keyboard.press("Escape");
    await drop(page, "from.toml", "version = 2\n[range]\nbegin = '2024-03-05T10:08:00'\n[[panel]]\n[[panel.counter]]\npath = '\\System\\Threads'\n[[panel.counter]]\npath = '\\Memory\\Available MBytes'\n[[panel.counter]]\npath = '\\Processor Information(_Total)\\% Processor Time'\n");
    await columnsAre(page, await stats("-b", "2024-03-05T10:08:00"), names);
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "one-end.toml");
    await download.saveAs(file);
    assert.match(fs.readFileSync(file, "utf8"), /\[range\]\nbegin = '2024-03-05T10:08:00.0000000Z'\n\n/);
  });
  await server.stop();
});

test("figures: percentiles are columns of the legend, as in tacho stats", async () => {
  const log = await recordedLog();
  const server = await serve(log);
  const stats = async (...range) => JSON.parse(await tacho("stats", log, ...range, "-f", "json"));
  const names = ["p50", "p90", "p95", "p99", "average"];
  await withPage("percentiles", `${server.url}#${panelLink({ id: 1, counters: ["\\Processor Information(*)\\% Processor Time", "\\Memory\\Available Bytes", "\\System\\Context Switches/sec"].map((one) => ({ path: one })) })}`, async (page) => {
    await legendThat(page, (rows) => rows.length > 2 && rows[0].average !== "---", "the log's counters");
    assert.deepEqual(await column(page, "p95").then((all) => all.filter(([, value]) => value !== undefined)), []);
    const asked = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => /statistics/.test(name)).length);
    assert.equal(asked, 0, "percentiles are computed on request");
    for (const name of ["p50", "p90", "p95", "p99"]) await page.check(`#legend-columns input[value=${name}]`);
    await page.uncheck("#legend-columns input[value=last]");
    await columnsAre(page, await stats(), names);
    assert.equal(await page.locator("#legend-head [data-column=last]").count(), 0);
    // Numbers are first sorted in descending order.
    await page.click("#legend-head [data-column=p95] button");
    await page.waitForSelector("#legend-head [data-column=p95][aria-sort=descending]");
    // Values are sorted within their unit, because percentages and bytes have no common order.
    const sorted = await column(page, "p95");
    const units = sorted.map(([path]) => path.split("\\").at(-1));
    assert.deepEqual(units, [...new Set(units)].flatMap((unit) => units.filter((other) => other === unit)), "units are together");
    for (const unit of new Set(units)) {
      const own = sorted.filter((_, index) => units[index] === unit).map(([, value]) => Number(value));
      assert.deepEqual(own, [...own].sort((one, other) => other - one), unit);
    }
    // The percentiles are those of the visible range, also after a reload.
    await page.keyboard.press("r");
    await page.fill("#from-field", "-2s");
    await page.fill("#to-field", "end");
    await page.press("#to-field", "Enter");
    const range = await rangeAfter(page, null);
    const part = await stats("-b", new Date(range.begin).toISOString(), "-e", new Date(range.end).toISOString());
    await columnsAre(page, part, names);
    await page.waitForFunction(() => /range=/.test(location.hash) && /p99/.test(location.hash));
    await page.reload();
    await columnsAre(page, part, names);
    // Bars, numbers and the legends of panels can show percentiles, too.
    await page.click("summary:text-is('Display')");
    await page.selectOption("#figure-list", "p95");
    await page.keyboard.press("Escape");
    await page.selectOption("#kind-list", "report");
    await page.waitForFunction((wanted) => [...document.querySelectorAll("#report td[data-value]")].some(({ dataset }) => dataset.value === wanted), String(part.find(({ path: full }) => /Available Bytes/.test(full)).p95));
    assert.match(await page.textContent("#report .hint"), /95th percentile/);
  });
  await server.stop();
});

test("figures: live percentiles are those of the server", async () => {
  const server = await serve("--interval", "0.2");
  const counter = "\\System\\Context Switches/sec";
  await withPage("live-percentiles", `${server.url}#columns=p50,maximum&${panelLink({ id: 1, counters: [{ path: counter }] })}`, async (page) => {
    await legendThat(page, (rows) => rows.length === 1 && rows[0].p50 && rows[0].p50 !== "---", "a median");
    await page.keyboard.press("f");
    await page.waitForSelector("#live-state[data-state=frozen]");
    const end = Date.now() + PATIENCE;
    for (;;) {
      const [[full, value]] = await column(page, "p50");
      const range = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("range");
      assert.equal(range, null);
      const bounds = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => /statistics/.test(name)).at(-1).name);
      const rows = await (await page.request.get(bounds)).json();
      if (value !== "" && rows[0].path === full && String(rows[0].p50) === value) break;
      assert.ok(Date.now() < end, `${value} is not ${JSON.stringify(rows[0])}`);
      await page.waitForTimeout(100);
    }
  });
  await server.stop();
});

test("figures: instances with the same name are summed as by tacho stats --group-by name", async () => {
  const children = [1, 2, 3].map(() => spawn("sleep", ["60"]));
  const log = path.join(scratch, "names.blg");
  try {
    await tacho("record", "\\Process(*)\\Working Set", "\\Process(*)\\Thread Count", "\\Process(*)\\% Processor Time", "-o", log, "-si", "0.1", "-sc", "12");
  } finally {
    for (const child of children) child.kill();
  }
  const expected = JSON.parse(await tacho("stats", log, "--group-by", "name", "\\Process(sleep*)\\*", "\\Process(tacho*)\\*", "-f", "json"));
  assert.ok(expected.find((line) => line.instance === "sleep" && line.counter === "Thread Count").average >= 3, JSON.stringify(expected));
  const each = JSON.parse(await tacho("stats", log, "\\Process(sleep*)\\Thread Count", "-f", "json"));
  assert.ok(each.length >= 3);
  const server = await serve(log);
  const paths = ["Working Set", "Thread Count", "% Processor Time"].flatMap((counter) => ["sleep", "tacho"].map((name) => ({ path: `\\Process(${name}*)\\${counter}` })));
  const table = { id: 2, kind: "table", table: { set: "Process", columns: [{ title: "Name" }, { title: "THREADS", counter: "Thread Count" }] } };
  await withPage("summed", `${server.url}#columns=average,maximum,p95&alone=1&${panelLink({ id: 1, counters: paths }, table)}`, async (page) => {
    const names = async () => (await column(page, "average")).map(([full]) => full);
    await page.waitForFunction(() => [...document.querySelectorAll("#legend-body tr")].filter(({ title }) => /sleep/.test(title)).length >= 9);
    await page.click("summary:text-is('Display')");
    await page.selectOption("#group-list", "name");
    await page.keyboard.press("Escape");
    await columnsAre(page, expected, ["average", "maximum", "p95"]);
    assert.ok(!(await names()).some((full) => /#/.test(full)));
    // The table shows the sums, too.
    await page.click("#panel-back");
    await page.waitForFunction(() => /group=name/.test(location.hash) && !/alone=/.test(location.hash));
    const sum = String(expected.find((line) => line.instance === "sleep" && line.counter === "Thread Count").average);
    await page.waitForFunction((wanted) => [...document.querySelectorAll(".instances tbody tr")].some((row) => row.cells[0].textContent === "sleep" && row.cells[1].dataset.value === wanted), sum);
    await page.reload();
    await page.waitForFunction((wanted) => [...document.querySelectorAll(".instances tbody tr")].some((row) => row.cells[0].textContent === "sleep" && row.cells[1].dataset.value === wanted), sum);
    // Files and pictures have the sums, except a BLG, which has raw values of each instance.
    const heads = (text) => text.split("\r\n")[0].split('","').map((head) => head.replace(/"$/, ""));
    const csv = fs.readFileSync((await saved(page, "#save-csv")).path, "utf8");
    const threads = heads(csv).findIndex((head) => head.endsWith("\\Process(sleep)\\Thread Count"));
    assert.ok(threads > 0 && !csv.includes("sleep#1"), heads(csv).join(" "));
    const values = csv.trim().split("\r\n").slice(1).map((row) => Number(row.split('","')[threads].replace(/"$/, "")));
    assert.equal(String(values.reduce((total, value) => total + value, 0) / values.length), sum);
    const blg = (await saved(page, "#save-blg")).path;
    await page.waitForFunction(() => /a BLG has each instance/.test(document.getElementById("messages").textContent));
    assert.deepEqual(JSON.parse(await tacho("stats", blg, "\\Process(sleep*)\\Thread Count", "-f", "json")).map(({ average }) => average), each.map(({ average }) => average));
    await page.click(".panel-title");
    const svg = fs.readFileSync((await saved(page, "#save-svg")).path, "utf8");
    assert.ok(svg.includes("Thread Count (sleep)") && !svg.includes("sleep#1"));
    // A view file keeps the grouping by name.
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "sums.toml");
    await download.saveAs(file);
    const text = fs.readFileSync(file, "utf8");
    assert.match(text, /^group_by = 'name'$/m);
    await drop(page, "sums.toml", text.replace(/^group_by.*\n/m, ""));
    await page.waitForFunction(() => !/group=name/.test(location.hash));
    await drop(page, "sums.toml", text);
    await page.waitForFunction(() => /group=name/.test(location.hash));
    await page.waitForFunction((wanted) => [...document.querySelectorAll(".instances tbody tr")].some((row) => row.cells[0].textContent === "sleep" && row.cells[1].dataset.value === wanted), sum);
  });
  // For the path of a single instance, the page shows why it has no values.
  await withPage("summed-path", `${server.url}#group=name&${panelLink({ id: 1, counters: [{ path: "\\Process(sleep#1)\\Thread Count" }, { path: "\\Process(sleep)\\Thread Count" }] })}`, async (page) => {
    await page.waitForFunction(() => /sleep#1.*included in the sum for its name/.test(document.getElementById("missing-text").textContent));
    await legendThat(page, (rows) => rows.length === 1, "the sum");
  });
  await server.stop();
});

test("figures: live sums over names are streamed", async () => {
  const children = [1, 2].map(() => spawn("sleep", ["60"]));
  const server = await serve("--interval", "0.2");
  try {
    await withPage("live-sums", server.url, async (page) => {
      const opened = [];
      page.on("request", (request) => request.url().includes("/api/stream") && opened.push(new URL(request.url()).searchParams));
      await page.evaluate((link) => (location.hash = link), `group=name&${panelLink({ id: 1, counters: [{ path: "\\Process(sleep*)\\Thread Count" }] })}`);
      const rows = await legendThat(page, (all) => all.length === 1 && Number(all[0].last) >= 2, "one sum");
      assert.equal(rows[0].instance, "sleep");
      const before = await page.textContent("#range-text");
      await page.waitForFunction((text) => document.getElementById("range-text").textContent !== text, before);
      assert.ok(opened.some((parameters) => parameters.get("group_by") === "name" && parameters.has("window")), opened.join(" "));
      // Another process with the name is added to the sum.
      children.push(spawn("sleep", ["60"]));
      await legendThat(page, (all) => all.length === 1 && Number(all[0].last) >= Number(rows[0].last) + 1, "a larger sum");
      // Without sums there is a line per process again.
      await page.click("summary:text-is('Display')");
      await page.selectOption("#group-list", "none");
      await legendThat(page, (all) => all.length >= 3, "each process");
    });
  } finally {
    for (const child of children) child.kill();
  }
  await server.stop();
});

test("figures: a table of processes has properties, and can be a tree", async () => {
  const child = spawn("bash", ["-c", "sleep 86317 & wait"], { detached: true });
  const server = await serve("--interval", "0.5");
  try {
    await withPage("processes", `${server.url}#open=processes`, async (page) => {
      await page.waitForFunction(() => document.querySelectorAll(".panel .instances tbody tr").length > 5);
      await page.click(".panel-title");
      await page.waitForSelector("#report .instances");
      const user = fs.readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":")).find(([, , id]) => Number(id) === process.getuid())[0];
      await page.fill("#report .table-filter", "sleep 86317");
      // The words of the filter are in the command line of both processes.
      const rows = () => page.$$eval("#report .instances tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      await page.waitForFunction(() => document.querySelectorAll("#report .instances tbody tr").length === 2);
      const heads = await page.$$eval("#report .instances thead th", (all) => all.map((head) => head.textContent));
      const [command, owner] = [heads.indexOf("COMMAND"), heads.indexOf("USER")];
      assert.ok(command > 0 && owner > 0, heads.join());
      const found = await rows();
      assert.ok(found.some((cells) => cells[command] === "sleep 86317" && cells[owner] === user), JSON.stringify(found));
      // In the tree, the process is below its parent.
      await page.selectOption("#report .table-tree", "parent");
      await page.waitForFunction(() => [...document.querySelectorAll("#report .instances tbody th")].some((name) => /sleep/.test(name.textContent) && Number(name.dataset.depth) > 0));
      const tree = await page.$$eval("#report .instances tbody th", (all) => all.map((name) => [name.title, Number(name.dataset.depth ?? 0)]));
      const at = tree.findIndex(([name]) => name.startsWith("sleep"));
      assert.ok(tree[at - 1][0].startsWith("bash") && tree[at][1] === tree[at - 1][1] + 1, JSON.stringify(tree));
      // The control group can be a column, and a heading of the tree.
      await page.check("#report .choices input[value='Control Group']");
      await page.waitForFunction(() => [...document.querySelectorAll("#report .instances thead th")].some((head) => head.textContent === "CONTROL GROUP"));
      await page.selectOption("#report .table-tree", "cgroup");
      const group = fs.readFileSync(`/proc/${child.pid}/cgroup`, "utf8").trim().split("\n").map((line) => line.split(":")[2]).find((one) => one !== "/") ?? "/";
      await page.waitForFunction((wanted) => [...document.querySelectorAll("#report .instances .group")].some((row) => row.textContent.startsWith(wanted)), group);
      // The view file keeps the columns, the tree and the filter.
      await page.click("#view-menu > summary");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
      const file = path.join(scratch, "tree.toml");
      await download.saveAs(file);
      const text = fs.readFileSync(file, "utf8");
      for (const part of ["tree = 'cgroup'", "'Control Group'", "'Command'", "filter = 'sleep 86317'"]) assert.ok(text.includes(part), text);
      await drop(page, "tree.toml", text);
      await page.waitForFunction(() => document.querySelector(".instances .group"));
    });
  } finally {
    // Ends both processes.
    process.kill(-child.pid);
  }
  // Logs have no properties.
  const log = path.join(scratch, "processes.blg");
  await tacho("record", "\\Process(*)\\*", "-o", log, "-si", "0.1", "-sc", "4");
  const logs = await serve(log);
  await withPage("log-processes", `${logs.url}#open=processes`, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".instances tbody tr").length > 5);
    const heads = await page.$$eval(".instances thead th", (all) => all.map((head) => head.textContent));
    assert.ok(!heads.includes("COMMAND") && heads.includes("MEMORY"), heads.join());
  });
  await logs.stop();
  await server.stop();
});
