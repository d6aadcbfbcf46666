// Errors are shown, and the page continues to work.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { classic, inLegend, legend, legendIs, legendThat, plotBox, saved, scratch, serve, showAs, tacho, test, withPage } from "./harness.mjs";
import { HOSTILE, recordedLog, textLog, TURNED } from "./logs.mjs";

test("errors: names in a log are shown as text", async () => {
  const log = textLog("hostile.csv", 100, { instance: HOSTILE });
  const server = await serve(log);
  await withPage("hostile", classic(server), async (page) => {
    await page.keyboard.press("a");
    await page.fill("#tree-search", "processor time");
    await page.waitForSelector("#tree [role=treeitem]");
    await page.fill("#path-field", "\\Process(*)\\% Processor Time");
    await page.press("#path-field", "Enter");
    await legendThat(page, (rows) => rows.some((row) => row.instance === HOSTILE && row.average !== "---"), "the name as text");
    for (const view of ["bars", "report", "line"]) await showAs(page, view);
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForSelector("#hover:not([hidden])");
    // The tree shows the name as text, too.
    await page.fill("#tree-search", "");
    await page.focus("#tree [role=treeitem]");
    await page.keyboard.press("End");
    for (const level of [1, 2]) {
      const closed = page.locator(`#tree [aria-level='${level}'][aria-expanded=false]`);
      while (await closed.count()) await closed.first().click();
    }
    await page.waitForSelector("#tree [aria-level='3']");
    assert.equal(await page.locator("img:not(h1 img)").count(), 0);
    assert.equal(await page.title(), "Tachograph");
  });
  await server.stop();
});

test("errors: bidirectional control characters are escaped on the page and unchanged in files", async () => {
  const server = await serve(textLog("turned\u202e.csv", 100, { machine: "WEB\u202e1", instance: TURNED }));
  const hidden = /[\u0000-\u0008\u000e-\u001f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  await withPage("turned", classic(server), async (page) => {
    await page.keyboard.press("a");
    await page.fill("#tree-search", "processor time");
    await page.waitForSelector("#tree [role=treeitem]");
    await page.fill("#path-field", "\\Process(*)\\% Processor Time");
    await page.press("#path-field", "Enter");
    const written = String.raw`a\u{202e}exe.txt\u{2066}\u{7}`;
    await legendThat(page, (rows) => rows.some((row) => row.instance === written && row.average !== "---"), "the escaped name");
    for (const view of ["bars", "report", "line"]) {
      await showAs(page, view);
      // No visible text and no label contains such characters.
      const texts = await page.evaluate(() => [document.documentElement.textContent, ...[...document.querySelectorAll("[title], [aria-label]")].flatMap((one) => [one.title, one.ariaLabel ?? ""])]);
      assert.deepEqual(texts.filter((text) => hidden.test(text)), [], view);
    }
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForSelector("#hover:not([hidden])");
    assert.ok(!hidden.test(await page.textContent("#hover")));
    const csv = await saved(page, "#save-csv");
    assert.ok(fs.readFileSync(csv.path, "utf8").includes(TURNED), "the file has the original name");
    const svg = await saved(page, "#save-svg");
    assert.ok(!hidden.test(fs.readFileSync(svg.path, "utf8")), "the picture has the escaped name");
  });
  await server.stop();
});

test("errors: an unreachable server is reported, and the page recovers when it returns", async () => {
  const log = textLog("away.csv", 100);
  const server = await serve("--interval", "0.2", "-c", "\\Processor Information(_Total)\\% Processor Time");
  await withPage("away", classic(server), async (page) => {
    await page.waitForSelector("#live-state[data-state=live]");
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "live values");
    await server.stop();
    await page.waitForSelector("#server-state:not([hidden])");
    await page.waitForSelector("#live-state[data-state=away]");
    // The page works without the server.
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    await page.waitForSelector("#chart canvas");
    await page.setInputFiles("#file-field", log);
    await page.waitForSelector(".message.error:has-text('away.csv')");
    const again = await serve("--interval", "0.2", "--port", String(server.port));
    await page.waitForSelector("#server-state", { state: "hidden" });
    await page.waitForSelector("#live-state[data-state=live]");
    const text = await page.textContent("#range-text");
    await page.waitForFunction((then) => document.getElementById("range-text").textContent !== then, text);
    await again.stop();
  }, { allowed: /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|Failed to load resource/ });
});

test("errors: a slow server is reported", async () => {
  const server = await serve(textLog("slow.csv", 100));
  await withPage("slow", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    let proceed = null;
    await page.route("**/series?*", (route) => (proceed = () => route.continue()));
    await page.keyboard.press("+");
    await page.waitForSelector("#server-state:has-text('slow to respond')");
    proceed();
    await page.waitForSelector("#server-state", { state: "hidden" });
    await legendThat(page, (rows) => rows[0].average !== "---", "figures");
  });
  await server.stop();
});

test("errors: files that are not logs are rejected, and damaged logs show their problems", async () => {
  const server = await serve();
  const wrong = path.join(scratch, "wrong.blg");
  fs.writeFileSync(wrong, "not a log");
  const damaged = path.join(scratch, "damaged.blg");
  fs.copyFileSync(await recordedLog(), damaged);
  // The end of the file is unused, so the file is truncated until the log is damaged.
  const isUndamaged = () => tacho("check", damaged).then(() => true, () => false);
  while (await isUndamaged()) fs.truncateSync(damaged, Math.floor(fs.statSync(damaged).size * 0.8));
  await withPage("damaged", classic(server), async (page) => {
    await page.setInputFiles("#file-field", wrong);
    await page.waitForSelector(".message.error:has-text('wrong.blg')");
    await page.setInputFiles("#file-field", [{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("x") }]);
    await page.waitForSelector(".message.error:has-text('notes.txt is not a log')");
    await page.setInputFiles("#file-field", damaged);
    await page.waitForFunction(() => document.getElementById("source-names").textContent.includes("damaged.blg"));
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "the undamaged part");
    const expected = JSON.parse(await tacho("stats", damaged, "-f", "json"));
    await legendIs(page, expected, { isOf: inLegend });
    await page.waitForSelector("#source-problems:not([hidden])");
    await page.click("#source-menu summary");
    await page.click(".problems summary");
    assert.match(await page.textContent(".problems li"), /damaged\.blg/);
  }, { allowed: /Failed to load resource: the server responded with a status of 4\d\d/ });
  await server.stop();
});

test("errors: a failed export shows a message", async () => {
  const log = textLog("removed.csv", 50);
  const server = await serve(log);
  await withPage("refused", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    await page.click("summary:text-is('Export')");
    // An export reads the log again.
    fs.rmSync(log);
    await page.click("#save-blg");
    await page.waitForSelector(".message.error");
    assert.ok((await page.textContent(".message.error")).length > 20);
  }, { allowed: /Failed to load resource: the server responded with a status of [45]\d\d/ });
  await server.stop();
});

test("errors: a path without matches is shown below the chart", async () => {
  const server = await serve(textLog("missing.csv", 50));
  await withPage("missing", classic(server), async (page) => {
    await legendThat(page, (rows) => rows.length > 0 && rows[0].average !== "---", "counters");
    await page.keyboard.press("a");
    await page.fill("#path-field", "\\Nothing\\Of this");
    await page.press("#path-field", "Enter");
    await page.waitForFunction(() => document.getElementById("missing-text").textContent.includes("\\Nothing\\Of this"));
    // An invalid path is not added.
    const rows = await legend(page);
    await page.fill("#path-field", "\\Nothing");
    await page.press("#path-field", "Enter");
    await page.waitForFunction(() => document.getElementById("path-error").textContent !== "");
    assert.deepEqual(await legend(page), rows);
  }, { allowed: /status of 400/ });
  await server.stop();
});

test("errors: the page works after a link with an invalid path", async () => {
  const server = await serve("-c", "\\Memory\\Available Bytes");
  await withPage("bad-link", `${server.url}#path=%5CNothing`, async (page) => {
    await page.waitForSelector("#live-state[data-state=refused]");
    await page.waitForSelector(".message.error");
    await page.keyboard.press("a");
    await page.fill("#tree-search", "available bytes");
    await page.waitForSelector("#tree [aria-level='2']");
  }, { allowed: /status of 400/ });
  await server.stop();
});

test("errors: the page asks for the token of the server", async () => {
  const file = path.join(scratch, "token");
  fs.writeFileSync(file, "a-secret-of-the-tests-123\n", { mode: 0o600 });
  const server = await serve("--token-file", file, "-c", "\\Memory\\Available Bytes");
  await withPage("token", classic(server), async (page) => {
    await page.waitForSelector("#token-dialog[open]");
    await page.fill("#token-field", "a wrong token");
    await page.press("#token-field", "Enter");
    await page.waitForFunction(() => document.getElementById("token-error").textContent !== "");
    await page.fill("#token-field", "a-secret-of-the-tests-123");
    await page.press("#token-field", "Enter");
    await page.waitForSelector("#live-state[data-state=live]");
    await legendThat(page, (rows) => rows.length === 1, "the counter");
    assert.ok(!page.url().includes("secret"));
  }, { allowed: /status of 401/ });
  await server.stop();
});
