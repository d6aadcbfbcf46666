// The server's scripts and style sheets have no comments, but otherwise the meaning of their sources. The page is small.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { PAGE, serve, test, withPage } from "./harness.mjs";
import { textLog } from "./logs.mjs";
import { parse } from "acorn";

/** With `FROM_SOURCE`, the source files are used instead of the server's, so there is nothing to compare. */
const testBuilt = process.env.FROM_SOURCE ? () => {} : test;

/** The syntax tree without positions and raw texts. */
const meaning = (text) =>
  JSON.stringify(parse(text, { ecmaVersion: "latest", sourceType: "module" }), (name, value) => (["start", "end", "raw"].includes(name) ? undefined : typeof value === "bigint" ? `${value}n` : value));

/** The files of the page with this extension, without those in vendor/. */
const own = (extension) => fs.readdirSync(PAGE).filter((name) => name.endsWith(extension));

testBuilt("stripped: scripts have the syntax trees of their sources", async () => {
  const server = await serve();
  try {
    for (const name of own(".js")) {
      const text = await (await fetch(`${server.url}assets/${name}`)).text();
      // `assert.equal` would print the trees, which are long.
      assert.ok(meaning(text) === meaning(fs.readFileSync(path.join(PAGE, name), "utf8")), name);
      assert.ok(!/^\s*(\/\/|\/?\*)/m.test(text), `${name} has a comment`);
    }
  } finally {
    await server.stop();
  }
});

testBuilt("stripped: style sheets have the rules of their sources", async () => {
  const server = await serve();
  try {
    await withPage("style sheets", server.url, async (page) => {
      for (const name of own(".css")) {
        const text = await (await fetch(`${server.url}assets/${name}`)).text();
        const [found, expected] = await page.evaluate(
          async (texts) => Promise.all(texts.map(async (source) => [...(await new CSSStyleSheet().replace(source)).cssRules].map((rule) => rule.cssText))),
          [text, fs.readFileSync(path.join(PAGE, name), "utf8")],
        );
        // A value with a variable keeps its text, in which only white space differs.
        const shortened = (rules) => rules.map((rule) => rule.replace(/,\s+/g, ","));
        assert.deepEqual(shortened(found), shortened(expected), name);
        assert.ok(found.length > 5 && !text.includes("/*"), name);
      }
    });
  } finally {
    await server.stop();
  }
});

testBuilt("stripped: opening the page transfers less than 150 kB", async () => {
  // A page of a log opens no stream, which would not end.
  const server = await serve(textLog("weight.csv", 20));
  try {
    const sizes = new Map();
    // The first address loads no files: those of a page that is still loading would be counted twice.
    await withPage("weight", `${server.url}api/sources`, async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send("Network.enable");
      const names = new Map();
      session.on("Network.responseReceived", ({ requestId, response }) => names.set(requestId, response.url));
      session.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
        const url = names.get(requestId);
        sizes.set(url, (sizes.get(url) ?? 0) + encodedDataLength);
      });
      await session.send("Network.setCacheDisabled", { cacheDisabled: true });
      await page.goto(server.url, { waitUntil: "networkidle" });
    });
    // The sizes are those of the compressed contents, without headers.
    const files = [...sizes].filter(([url]) => !url.includes("/api/"));
    const total = files.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(files.length > 40, `${files.length} files`);
    assert.ok(total > 50_000 && total < 150_000, `${total} bytes`);
  } finally {
    await server.stop();
  }
});
