// Shared by the tests: the server, the browser, and pages that fail on any error.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, test as nodeTest } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

export const { TACHO, OUT, PAGE } = process.env;
export const screenshots = path.join(OUT, "screenshots");
/** A folder that is deleted at the end. */
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "tacho-browser-"));
const run = promisify(execFile);
/** How long tests wait for a condition, in milliseconds: long, because the machine can be busy. */
export const PATIENCE = 60_000;
const running = new Set();

/** The output of the command. */
export async function tacho(...args) {
  const { stdout } = await run(TACHO, args, { maxBuffer: 64 << 20 });
  return stdout;
}

/** Waits for a promise at most this long: the steps of Playwright that have no limit of their own would end the test without a reason. */
export async function within(milliseconds, promise, what) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${what} did not come within ${milliseconds / 1000} s`)), milliseconds)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Starts a server: `{url, port, stop(), output()}`. It is killed when the tests end. */
export async function serve(...args) {
  const child = spawn(TACHO, ["serve", ...(args.includes("--port") ? [] : ["--port", "0"]), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  const url = await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        output += `${line}\n`;
        const found = /https?:\/\/[^\s/]+:\d+\//.exec(line) ?? /https?:\/\/[^\s/]+:\d+/.exec(line);
        if (found) resolve(found[0].replace(/\/?$/, "/"));
      });
    }
    child.once("exit", (status) => reject(new Error(`the server ended with status ${status}:\n${output}`)));
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await within(PATIENCE, ended, "the end of the server");
    running.delete(child);
  };
  return { url, port: Number(new URL(url).port), stop, output: () => output };
}

let browser = null;
async function theBrowser() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH,
    headless: true,
    // The browser connects only to the server under test.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
  return browser;
}

const KINDS = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".svg": "image/svg+xml" };

/** Serves the files of the page from the source, with the headers of the server. */
async function fromSource(context) {
  await context.route(/^[^?#]*\/(assets\/[^?#]*)?([?#].*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.replace(/^\/(assets\/)?/, "") || "index.html";
    const answer = await route.fetch().catch(() => null);
    if (!answer) return route.abort("connectionrefused");
    const headers = { ...answer.headers(), "content-type": KINDS[path.extname(name)] };
    delete headers["content-encoding"];
    return route.fulfill({ status: 200, headers, body: fs.readFileSync(path.join(PAGE, name)) });
  });
}

/** Slows the processor, and delays responses at random, to find races. */
async function slowly(context, page) {
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 1 + Math.random() * 7 });
  await context.route(/\/api\/(?!stream)/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
    await route.fallback().catch(() => {});
  });
}

let known = 0;
const [share, shares] = (process.env.SHARE ?? "0/1").split("/").map(Number);

/** Registers a test, unless ONLY or SHARE exclude it. */
export function test(name, act) {
  const only = process.env.ONLY?.trim();
  if (only && !only.split(/\s+/).some((part) => name.includes(part))) return;
  if (known++ % shares !== share) return;
  nodeTest(name, { timeout: 5 * PATIENCE }, act);
}

/**
 * Opens the page and passes it to `act(page)`. Errors and warnings on the console, exceptions, and requests to other
 * servers fail the test, except those that match `allowed`. `prepare` runs in the page before its scripts. Saves a screenshot
 * under the test's name.
 */
export async function withPage(name, url, act, { width = 1280, height = 800, theme = "light", allowed = null, prepare = null, ...context } = {}) {
  const browserContext = await (await theBrowser()).newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", acceptDownloads: true, timezoneId: "Europe/Berlin", locale: "en-US", ...context });
  if (process.env.FROM_SOURCE) await fromSource(browserContext);
  const page = await browserContext.newPage();
  if (process.env.SLOWLY) await slowly(browserContext, page);
  page.setDefaultTimeout(PATIENCE);
  if (prepare) await page.addInitScript(prepare);
  const errors = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => errors.push(`exception: ${error.stack}`));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(new URL(url).origin) && !/^(blob|data):/.test(to)) errors.push(`a request to another server: ${to}`);
  });
  try {
    await page.goto(url);
    await within(3 * PATIENCE, act(page), "the end of the test's steps");
    await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
    assert.deepEqual(errors.filter((error) => !allowed?.test(error)), [], "the page had errors");
  } catch (problem) {
    await page.screenshot({ path: path.join(screenshots, `${name}-failed.png`) }).catch(() => {});
    if (errors.length) problem.message += `\nErrors of the page:\n${errors.join("\n")}`;
    throw problem;
  } finally {
    await within(PATIENCE, browserContext.close(), "the end of the browser's context");
  }
}

/** Waits until a counter of this machine was collected `count` times. */
export async function collections(url, path, count) {
  const answer = await fetch(`${url}api/stream?${new URLSearchParams({ path })}`);
  let seen = 0;
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    seen += chunk.split("event: sample").length - 1;
    // Returning closes the stream.
    if (seen >= count) return;
  }
  throw new Error(`the stream ended after ${seen} collections`);
}

/** The page with the counters of Performance Monitor on one chart. */
export const classic = (server) => `${server.url}#open=classic`;

/** The rows of the legend: `[{counter, instance, average, ...}]`. Figures are read with all digits, and rounded to three decimals. */
export async function legend(page) {
  const rows = await page.$$eval("#legend-body tr", (all) =>
    all.map((row) => Object.fromEntries([...row.cells].map((cell) => [cell.dataset.column, cell.querySelector("select")?.value ?? (cell.dataset.value === undefined ? cell.textContent : { value: cell.dataset.value })]))),
  );
  const text = (cell) => (typeof cell === "object" ? shown(cell.value === "" ? null : Number(cell.value)) : cell);
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, cell]) => [column, text(cell)])));
}

/** A figure of the value bar, as in the legend. */
export const barFigure = async (page, name) => shown(await page.$eval(`#value-${name}`, ({ dataset }) => (dataset.value === "" ? null : Number(dataset.value))));

/** Sets the kind of the only panel: "line", "bars", "report", ... */
export const showAs = (page, kind) => page.selectOption("#kind-list", kind);

/** Waits until `accept` is true for the rows of the legend; returns them. */
export async function legendThat(page, accept, what) {
  const end = Date.now() + PATIENCE;
  let rows;
  do {
    rows = await legend(page);
    if (accept(rows)) return rows;
    await page.waitForTimeout(50);
  } while (Date.now() < end);
  throw new Error(`the legend never had ${what}: ${JSON.stringify(rows, null, 1)}`);
}

/** The zoomed range of the displayed figures: `{begin, end}` in milliseconds; null for the whole range. */
export async function rangeOf(page) {
  const expected = await page.getAttribute("#content", "data-range");
  if (!expected) return null;
  const [begin, end] = expected.split("~").map((text) => Math.round(Number(text) * 1000));
  return { begin, end };
}

/** Waits until the range differs from `before`; returns the new range. */
export async function rangeAfter(page, before) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const now = await rangeOf(page);
    if (JSON.stringify(now) !== JSON.stringify(before)) return now;
    assert.ok(Date.now() < end, `the range stayed ${JSON.stringify(before)}`);
    await page.waitForTimeout(20);
  }
}

export const iso = (milliseconds) => new Date(milliseconds).toISOString();

/** The plot's position on the page. Waits until the chart is drawn, because it is hidden for a moment after the view changes. */
export async function plotBox(page) {
  const plot = page.locator(".u-over");
  await plot.waitFor({ state: "visible" });
  return plot.boundingBox();
}

/**
 * Points at a place until `accept(text)` is true for the text of the box, which new data can hide or move away from the pointer.
 * Returns the text.
 */
export async function pointAt(page, x, y, accept) {
  const end = Date.now() + PATIENCE;
  for (let step = 0; ; step += 1) {
    await page.mouse.move(x, y + (step % 2));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const text = await page.evaluate(() => document.querySelector("#hover:not([hidden])")?.textContent ?? null);
    if (text !== null && accept(text)) return text;
    assert.ok(Date.now() < end, `the box never had the expected text: ${text}`);
  }
}

/** Drags over the chart; positions are fractions of its width. */
export async function drag(page, from, to) {
  const box = await plotBox(page);
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 3 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 3 });
  await page.mouse.up();
}

/** Presses a button of the Export menu; returns the saved file: `{name, path}`. */
export async function saved(page, button) {
  await page.click("summary:text-is('Export')");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  const file = path.join(scratch, `${Date.now()}-${download.suggestedFilename()}`);
  await download.saveAs(file);
  return { name: download.suggestedFilename(), path: file };
}

/** A figure as on the page: three decimals, grouped digits, ties to even. */
export function shown(value) {
  if (value === null) return "---";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-6)) return value.toExponential(3).replace("e+", "e");
  if (size !== 0 && size < 0.0005) return value.toFixed(2 + Math.ceil(-Math.log10(size)));
  return new Intl.NumberFormat("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3, roundingMode: "halfEven" }).format(value);
}

/** Compares the legend with the output of `tacho stats -f json`. */
export function compare(rows, statistics) {
  assert.equal(rows.length, statistics.length, "number of counters");
  for (const expected of statistics) {
    const row = rows.find((one) => one.counter === expected.counter && one.set === expected.set && one.instance === (expected.instance === null ? "---" : expected.index ? `${expected.instance}#${expected.index}` : expected.instance));
    assert.ok(row, `${expected.path} is in the legend: ${JSON.stringify(rows.map((one) => [one.counter, one.instance]))}`);
    for (const figure of ["average", "last", "minimum", "maximum"]) assert.equal(row[figure], shown(expected[figure]), `${figure} of ${expected.path}`);
  }
}

/** Waits until the legend has the figures of `tacho stats -f json`. `isOf` selects the compared statistics, `isRow` the compared rows. */
export async function legendIs(page, statistics, { isOf = () => true, isRow = () => true } = {}) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const rows = (await legend(page)).filter(isRow);
    try {
      return compare(rows, statistics.filter((line) => isOf(line, rows)));
    } catch (problem) {
      if (Date.now() > end) throw problem;
      await page.waitForTimeout(50);
    }
  }
}

/** Whether the legend has the counter of a line of `tacho stats`. */
export const inLegend = (line, rows) => rows.some((row) => row.counter === line.counter && row.set === line.set && row.instance === (line.instance === null ? "---" : line.index ? `${line.instance}#${line.index}` : line.instance));

after(async () => {
  for (const child of running) child.kill("SIGKILL");
  await browser?.close();
  fs.rmSync(scratch, { recursive: true, force: true });
});
