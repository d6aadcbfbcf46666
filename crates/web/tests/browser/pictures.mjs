// Draws the pictures of the documentation: run TACHO --pictures FOLDER. The values of logs are generated, so that
// these pictures change only when the page changes.

import fs from "node:fs";
import path from "node:path";
import { scratch, serve, tacho, test, withPage } from "./harness.mjs";

const { PICTURES } = process.env;
const two = (number) => String(number).padStart(2, "0");

/** A generator of pseudo-random numbers from 0 to 1. */
function randomOf(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

/** A generator of values that wander between 0 and 1, with peaks. */
function wander(seed) {
  const random = randomOf(seed);
  let level = random();
  let peak = 0;
  return () => {
    level = Math.max(0.02, Math.min(0.9, level + (random() - 0.5) * 0.06));
    peak = random() < 0.004 ? 1 : peak * 0.9;
    return Math.min(1, level * 0.7 + peak * 0.6 + random() * 0.05);
  };
}

/** A BLG of two days with a sample every 30 seconds: the processors, memory, disks, network and processes of a server. */
async function serverLog(name, machine, seed) {
  const processors = Array.from({ length: 16 }, (_, index) => [`Processor Information(0,${index})\\% Processor Time`, (value) => value * 100]);
  const disks = ["0 C:", "1 D:", "2 E:", "3 F:", "4 G:"].flatMap((disk) => [
    [`PhysicalDisk(${disk})\\Disk Read Bytes/sec`, (value) => value ** 2 * 2e8],
    [`PhysicalDisk(${disk})\\Disk Write Bytes/sec`, (value) => value ** 2 * 1e8],
    [`PhysicalDisk(${disk})\\Avg. Disk sec/Read`, (value) => 0.0004 + value ** 4 * 0.03],
    [`PhysicalDisk(${disk})\\Avg. Disk sec/Write`, (value) => 0.0008 + value ** 4 * 0.05],
  ]);
  const network = ["Bytes Received/sec", "Bytes Sent/sec"].map((counter) => [`Network Interface(Intel[R] Ethernet 10G)\\${counter}`, (value) => value ** 2 * 6e8]);
  const processes = ["sqlservr", "w3wp", "w3wp#1", "w3wp#2", "MsMpEng", "svchost", "svchost#1", "svchost#2", "explorer"].map((process) => [`Process(${process})\\% Processor Time`, (value) => value ** 2 * 220]);
  const counters = [
    ["Processor Information(_Total)\\% Processor Time", (value) => value * 85],
    ["Processor Information(_Total)\\% User Time", (value) => value * 60],
    ["Processor Information(_Total)\\% Privileged Time", (value) => value * 25],
    ["Memory\\Available Bytes", (value) => 2 ** 34 * (0.4 + value * 0.3)],
    ["Memory\\Committed Bytes", (value) => 2 ** 34 * (0.8 + value * 0.6)],
    ["Memory\\Pages/sec", (value) => value ** 3 * 4000],
    ["System\\Processor Queue Length", (value) => Math.round(value ** 3 * 20)],
    ["System\\Context Switches/sec", (value) => 8000 + value * 40_000],
    ...processors, ...disks, ...network, ...processes,
  ];
  const values = counters.map((_, index) => wander(seed * 1000 + index * 7919));
  const file = path.join(scratch, `${name}.csv`);
  const lines = [`"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)",${counters.map(([counter]) => `"\\\\${machine}\\${counter}"`).join(",")}`];
  for (let index = 0; index < 2 * 2880; index += 1) {
    const at = new Date(Date.UTC(2026, 2, 4, 0, 0, index * 30));
    // Days are busier than nights.
    const day = 0.55 + 0.45 * Math.sin(((at.getUTCHours() + at.getUTCMinutes() / 60 - 7) / 24) * 2 * Math.PI);
    const row = counters.map(([, shape], counter) => `"${shape(Math.max(0, values[counter]() * (0.35 + 0.65 * day)))}"`);
    lines.push(`"${two(at.getUTCMonth() + 1)}/${two(at.getUTCDate())}/${at.getUTCFullYear()} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}.000",${row.join(",")}`);
  }
  fs.writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  await tacho("relog", file, "-o", path.join(scratch, name), "-y");
  return path.join(scratch, name);
}

const panels = (...all) => all.map((panel) => `panel=${encodeURIComponent(JSON.stringify(panel))}`).join("&");
const drawn = (page, count) => page.waitForFunction((wanted) => document.querySelectorAll(".panel .u-over").length >= wanted && document.getElementById("chart-busy").hidden, count);

/** A picture of a page. */
function picture(name, address, act, { logs, ...options }) {
  test(`picture: ${name}`, async () => {
    const { url, stop } = await serve(...(await logs()));
    await withPage(`picture-${name}`, `${url}${address}`, async (page) => {
      await act(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: path.join(PICTURES, `${name}.png`) });
    }, { width: 1200, height: 760, ...options });
    await stop();
  });
}

let log = null;
const one = async () => [await (log ??= serverLog("web1.blg", "WEB1", 1))];

picture("page-overview", "", (page) => drawn(page, 5), { logs: one });
picture("page-dark", "", (page) => drawn(page, 5), { logs: one, theme: "dark" });
picture("page-phone", "", (page) => drawn(page, 3), { logs: one, theme: "dark", width: 390, height: 844, hasTouch: true });

picture(
  "page-counters",
  `#columns=average,last,maximum,p95&sort=p95~down&${panels({ id: 1, title: "WEB1", kind: "heatmap", counters: ["\\Processor Information(*)\\*", "\\Memory\\*", "\\PhysicalDisk(*)\\*", "\\Process(*)\\*", "\\System\\*", "\\Network Interface(*)\\*"].map((one) => ({ path: one })) })}`,
  async (page) => {
    await page.waitForFunction(() => [...document.querySelectorAll("#legend-body [data-column=p95]")].filter(({ dataset }) => dataset.value).length > 40);
  },
  { logs: one, height: 1040 },
);

/** A time of the second day, in the zone of the log. */
const day = (hour, minute = 0) => Date.UTC(2026, 2, 5, hour - 1, minute) / 1000;
picture(
  "page-comparison",
  `#shift=86400&range=${day(6)}~${day(18)}&note=${day(9, 30)}~~${encodeURIComponent("deployed 4.2")}&note=${day(12)}~${day(13)}~backup&${panels(
    { id: 1, title: "All processors", width: 2, max: 100, limits: [80], counters: [{ path: "\\Processor Information(_Total)\\% Processor Time" }] },
    { id: 2, title: "Each processor", kind: "heatmap", min: 0, max: 100, counters: [{ path: "\\Processor Information(*)\\% Processor Time", except: ["\\Processor Information(_Total)\\% Processor Time"] }] },
    { id: 3, title: "Read latency", height: 2, limits: [0.01, 0.02], counters: [{ path: "\\PhysicalDisk(*)\\Avg. Disk sec/Read" }] },
  )}`,
  (page) => drawn(page, 3),
  { logs: one, height: 940 },
);

picture("page-live", "", (page) => page.waitForFunction(() => /^Last 45 s/.test(document.getElementById("time-title").textContent), null, { timeout: 120_000 }), { logs: async () => ["--interval", "1"] });
