// Recording from the page.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { scratch, serve, tacho, test, withPage } from "./harness.mjs";

const TOKEN = "a-token-of-many-letters";

/** A server that allows recordings, and the folder of their logs. */
async function recordingServer(name, ...more) {
  const folder = path.join(scratch, name);
  fs.mkdirSync(folder, { recursive: true });
  const token = path.join(scratch, `${name}-token`);
  fs.writeFileSync(token, `${TOKEN}\n`, { mode: 0o600 });
  return { folder, server: await serve("--token-file", token, "--allow-record", folder, "-si", "0.2", ...more) };
}

async function signIn(page) {
  await page.fill("#token-field", TOKEN);
  await page.press("#token-field", "Enter");
  await page.waitForSelector("#token-dialog", { state: "hidden" });
}

const unauthorized = { allowed: /401/ };
const title = (page, accept) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("record-title").textContent), accept);

test("record: one page starts a recording, another one stops it, and its log is opened", async () => {
  const { folder, server } = await recordingServer("records");
  let started = null;
  await withPage("record-start", server.url, async (page) => {
    await signIn(page);
    await page.waitForSelector("#panels .panel canvas");
    await page.click("#record-menu summary");
    assert.equal(await page.isVisible("#record-stop"), false);
    await page.click("#record-view");
    await title(page, "^Recording ");
    await page.waitForFunction(() => /[3-9]\d* samples/.test(document.getElementById("record-state").textContent));
    [started] = fs.readdirSync(folder);
  }, unauthorized);
  assert.match(started, /^[\w.-]+_\d{8}\.blg$/);
  // The recording continues although the page that started it is closed.
  const size = fs.statSync(path.join(folder, started)).size;
  await withPage("record-stop", server.url, async (page) => {
    await signIn(page);
    await title(page, "^Recording ");
    await page.waitForFunction((before) => document.getElementById("record-title").textContent !== before, await page.textContent("#record-title"));
    assert.ok(fs.statSync(path.join(folder, started)).size > size);
    await page.click("#record-menu summary");
    await page.click("#record-stop");
    await title(page, "^Record$");
    assert.match(await page.textContent("#record-state"), /Ended: stopped/);
    // The log is in the source menu.
    await page.click("#source-menu summary");
    await page.waitForSelector(`#log-list button:has-text("${started}")`);
    await page.click("#record-menu summary");
    await page.click("#record-open");
    await page.waitForFunction((name) => document.getElementById("source-names").textContent.endsWith(name), started);
    await page.waitForSelector("#panels .panel canvas");
  }, unauthorized);
  const recorded = JSON.parse(await tacho("stats", path.join(folder, started), "-f", "json"));
  const counters = new Set(recorded.map((line) => line.counter));
  assert.ok(counters.has("% User Time") && counters.has("Used Bytes"), [...counters].join());
  await server.stop();
});

test("record: a refused recording shows the reason, and pages without permission have no button", async () => {
  const { folder, server } = await recordingServer("full-records", "--record-min-free", "1000000000");
  await withPage("record-refused", server.url, async (page) => {
    await signIn(page);
    await page.click("#record-menu summary");
    await page.click("#record-all");
    await page.waitForSelector(".message.error:has-text('MB are free')");
    assert.equal(await page.textContent("#record-title"), "Record");
  }, { allowed: /401|507/ });
  assert.deepEqual(fs.readdirSync(folder), []);
  await server.stop();
  const without = await serve();
  await withPage("record-without", without.url, async (page) => {
    await page.waitForSelector("#panels .panel canvas");
    assert.equal(await page.isVisible("#record-menu"), false);
  });
  await without.stop();
});
