// The line above the panels, the first view of several logs, the window of a new server, charts of a table's rows, descriptions.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { classic, scratch, serve, tacho, test, withPage } from "./harness.mjs";
import { logOf, textLog } from "./logs.mjs";

const headlineThat = (page, accept) => page.waitForFunction((source) => new RegExp(source).test(document.getElementById("headline").textContent), accept.source);
const partsOf = (page) => page.$$eval("#headline p", (all) => all.map((line) => [...line.children].map(({ textContent }) => textContent)));

test("overview: a line says what the machine is", async () => {
  const release = fs.readFileSync("/etc/os-release", "utf8");
  const distribution = /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(release)[1];
  const processors = fs.readFileSync("/sys/devices/system/cpu/online", "utf8").trim().split(",").map((range) => range.split("-").map(Number)).reduce((sum, [first, last = first]) => sum + last - first + 1, 0);
  const gib = Number(/^MemTotal:\s+(\d+)/m.exec(fs.readFileSync("/proc/meminfo", "utf8"))[1]) / 2 ** 20;
  const server = await serve("--interval", "0.5");
  await withPage("headline", server.url, async (page) => {
    await headlineThat(page, /load \d+\.\d\d \d+\.\d\d \d+\.\d\d/);
    const [parts] = await partsOf(page);
    assert.equal(parts[0].toLowerCase(), os.hostname().toLowerCase());
    assert.equal(parts[1], `${distribution}, Linux ${os.release()}`);
    assert.equal(parts[2], `${processors} processor${processors === 1 ? "" : "s"}`);
    const memory = /^memory (\S+) (\wiB)$/.exec(parts.find((part) => part.startsWith("memory")));
    const shown = Number(memory[1].replaceAll(",", "")) * { MiB: 1 / 1024, GiB: 1, TiB: 1024 }[memory[2]];
    assert.ok(Math.abs(shown - gib) < 0.01 * gib, `${memory[0]}, expected ${gib} GiB`);
    assert.match(parts.at(-1), /^up (\d+ d ?)?(\d+ h ?)?(\d+ min ?)?(\d{1,2} s)?$/);
    // It stays when users change the view, in the link and in the view file.
    await page.locator(".panel").first().focus();
    await page.keyboard.press("w");
    await page.waitForFunction(() => /headline=/.test(location.hash));
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    await headlineThat(page, /load \d+\.\d\d \d+\.\d\d \d+\.\d\d/);
    await page.click("#view-menu > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#view-download")]);
    const file = path.join(scratch, "headline.toml");
    await download.saveAs(file);
    assert.match(fs.readFileSync(file, "utf8"), /\[\[headline\]\]\npath = '\\System\\Load Average, 5 min'\nlabel = ''/);
    // One panel alone has the room for itself.
    await page.locator(".panel-title").first().click();
    await page.waitForSelector("#headline", { state: "hidden" });
    await page.keyboard.press("Escape");
    await page.waitForSelector("#headline", { state: "visible" });
  });
  await withPage("headline-phone", server.url, async (page) => {
    await headlineThat(page, /load/);
    await page.waitForSelector(".panel .u-over");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  }, { width: 360, height: 740, theme: "dark" });
  await server.stop();
});

test("overview: lines of logs have what the logs hold", async () => {
  const file = path.join(scratch, "facts.blg");
  await tacho("record", "\\Processor Information(*)\\% User Time", "\\System\\Load Average, 1 min", "\\System\\System Up Time", "\\Memory\\Total Bytes", "\\Memory\\Used Bytes", "-o", file, "-si", "0.1", "-sc", "20");
  const last = JSON.parse(await tacho("stats", file, "-f", "json")).find(({ counter }) => counter === "Load Average, 1 min").last;
  const processors = JSON.parse(await tacho("stats", file, "-f", "json")).filter(({ set, instance }) => set === "Processor Information" && !instance.includes("_Total")).length;
  const bare = logOf("bare.csv", { "\\Processor(_Total)\\% User Time": () => 40, "\\Memory\\Committed Bytes": () => 2 ** 30 });
  const server = await serve(file, bare);
  await withPage("headline-logs", `${server.url}#open=overview`, async (page) => {
    await headlineThat(page, /load/);
    const lines = await partsOf(page);
    assert.deepEqual([lines[0][0], lines[0][2]], ["facts.blg", `${processors} processor${processors === 1 ? "" : "s"}`]);
    assert.equal(lines[0][1].toLowerCase(), os.hostname().toLowerCase());
    assert.match(lines[0].at(-1), /^a sample every 0\.\d+ s$/);
    // A log without facts has its machine, its time range with the zone, and its interval.
    assert.deepEqual(lines[1], ["bare.csv", "WEB1", "1 processor", "2024-03-05 10:00:00 – 10:00:59 (UTC)", "a sample every 1 s"].filter((part) => part !== "1 processor"));
    assert.ok(lines[0].includes(`load ${last.toFixed(2)}`), `${lines[0]}, expected ${last}`);
    assert.ok(lines[0].some((part) => part.startsWith("memory ")) && lines[0].some((part) => part.startsWith("up ")), `${lines[0]}`);
  });
  // Counters of logs have the descriptions of this machine's counters.
  const { sets } = await (await fetch(`${server.url}api/sources/1/sets`)).json();
  const user = sets.find(({ name }) => name === "Processor Information").counters.find(({ name }) => name === "% User Time");
  const { sets: live } = await (await fetch(`${server.url}api/sources/live/sets`)).json();
  const known = live.find(({ name }) => name === "Processor Information").counters.find(({ name }) => name === "% User Time");
  assert.ok(user.help.length > 10 && user.help === known.help, user.help);
  await server.stop();
});

test("overview: two logs are compared, of three the first one is shown", async () => {
  const logs = ["one", "two", "three"].map((name) => textLog(`first-${name}.csv`, 60));
  for (const [count, names] of [[2, "first-one.csv + first-two.csv"], [3, "first-one.csv"]]) {
    const server = await serve(...logs.slice(0, count));
    await withPage(`first-of-${count}`, server.url, async (page) => {
      await page.waitForFunction((expected) => document.getElementById("source-names").textContent === expected, names);
      if (count === 3) await page.waitForSelector(".message:has-text('3 logs are open')");
      await page.waitForSelector(".panel .legend-line");
    });
    await server.stop();
  }
});

test("overview: the chart of a new server has no long empty time", async () => {
  const began = Date.now();
  const server = await serve("--interval", "0.5", "-c", "\\System\\Threads");
  await withPage("new-server", classic(server), async (page) => {
    const secondsOf = (text) => text.match(/\d+ (min|s)/g).reduce((sum, part) => sum + parseInt(part, 10) * (part.endsWith("min") ? 60 : 1), 0);
    await page.waitForFunction(() => /^\d/.test(document.getElementById("value-duration").textContent) && document.querySelector("#value-last").dataset.value);
    const shown = secondsOf(await page.textContent("#value-duration"));
    // At least four intervals, otherwise the time since the start.
    assert.ok(shown <= Math.max(2, (Date.now() - began) / 1000 + 1), `${shown} s`);
  });
  await server.stop();
});

test("overview: a click on a row of a table shows a chart of it", async () => {
  const server = await serve("--interval", "0.5");
  await withPage("row-chart", `${server.url}#open=processes`, async (page) => {
    const name = page.locator(".instance-name[data-path]").first();
    await name.waitFor();
    const path = await name.getAttribute("data-path");
    assert.match(path, /^\\Process\(.+\)\\% Processor Time$/);
    // Columns say what they are.
    assert.match(await page.getAttribute(".instances thead button[title*='% Processor Time']", "title"), /^% Processor Time\n.{20}/);
    const before = await page.$$eval(".panel", (all) => all.length);
    await name.click();
    await page.waitForFunction((count) => document.querySelectorAll(".panel").length === count + 1, before);
    await page.waitForSelector(".panel:last-child .legend-line[title*='% Processor Time']");
  });
  await server.stop();
});
