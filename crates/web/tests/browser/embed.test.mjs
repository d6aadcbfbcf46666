// The page in frames of other sites.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { PATIENCE, scratch, serve, test, withPage } from "./harness.mjs";

const [TOKEN, VIEWS_TOKEN] = ["a-token-of-many-letters", "views+only/token=="];

/** A site with a page that shows `frameOf()` in a frame: `{origin, page}`. Its host differs from the server's, so it is another site. */
async function siteWith(frameOf) {
  const site = http.createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><title>A wiki</title><p>Our servers</p><iframe src="${frameOf()}" width="1100" height="700"></iframe>`);
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  site.unref();
  const origin = `http://localhost:${site.address().port}`;
  return { origin, page: `${origin}/wiki/servers` };
}

function tokenFile(name, token) {
  const file = path.join(scratch, name);
  fs.writeFileSync(file, `${token}\n`, { mode: 0o600 });
  return file;
}

/** Checks that the frame does not show the page, once it has loaded. */
async function isRefused(page, server) {
  // A page has loaded only when its frames have loaded.
  await page.waitForLoadState("load");
  const address = page.frames().find((one) => one !== page.mainFrame()).url();
  assert.ok(!address.startsWith(server.url), `the page is shown: ${address}`);
}

test("embed: an allowed site shows the overview with the token of embedded pages, another site is refused", async () => {
  let link = "";
  const [named, other] = [await siteWith(() => link), await siteWith(() => link)];
  const server = await serve("--token-file", tokenFile("main-token", TOKEN), "--embed-token-file", tokenFile("embed-token", VIEWS_TOKEN), "--embed-origin", named.origin, "-si", "0.2");
  assert.equal(new URL(server.url).hostname, "127.0.0.1");
  link = `${server.url}#embed=${encodeURIComponent(VIEWS_TOKEN)}&open=overview`;
  const ofServer = new RegExp(`a request to another server: ${server.url}`);
  await withPage("embed-named", named.page, async (page) => {
    const frame = page.frameLocator("iframe");
    await frame.locator("#panels .panel canvas").first().waitFor();
    const value = frame.locator(".legend-value").first();
    await value.waitFor();
    // The page is live, so the figures of its panels change.
    const content = async () => (await frame.locator("#panels").innerText());
    const before = await content();
    for (const end = Date.now() + PATIENCE; (await content()) === before; ) {
      assert.ok(Date.now() < end, "the panels do not change");
      await page.waitForTimeout(50);
    }
    assert.equal(await frame.locator("#live-state").textContent(), "Live");
    for (const hidden of ["#top", "#add-button", "#token-dialog"]) assert.equal(await frame.locator(hidden).isVisible(), false, hidden);
    // The address of the frame keeps the token.
    const inner = page.frames().find((one) => one.url().startsWith(server.url));
    assert.ok(inner.url().includes(`embed=${encodeURIComponent(VIEWS_TOKEN)}`), inner.url());
  }, { allowed: ofServer });
  await withPage("embed-refused", other.page, async (page) => {
    await isRefused(page, server);
  }, { allowed: new RegExp(`frame-ancestors|${ofServer.source}|chrome-error`) });
  // A wrong token shows a message, not the form.
  link = `${server.url}#embed=wrong-wrong-wrong-wrong`;
  await withPage("embed-wrong", named.page, async (page) => {
    const frame = page.frameLocator("iframe");
    await frame.locator(".message.error").first().waitFor();
    assert.equal(await frame.locator("#token-dialog").isVisible(), false);
  }, { allowed: new RegExp(`401|${ofServer.source}`) });
  await server.stop();
});

test("embed: without the option no site can show the page", async () => {
  let link = "";
  const site = await siteWith(() => link);
  const server = await serve();
  link = server.url;
  await withPage("embed-none", site.page, async (page) => {
    await isRefused(page, server);
  }, { allowed: /frame-ancestors|X-Frame-Options|chrome-error|a request to another server/i });
  await server.stop();
});
