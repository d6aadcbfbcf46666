// The files in vendor/ equal the files of the npm package.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { OUT, PAGE, test } from "./harness.mjs";

const hash = (file) => createHash("sha256").update(fs.readFileSync(file)).digest("hex");

test("vendored: uPlot's files are those of the locked package, with its licence", () => {
  const installed = path.join(OUT, "page", "node_modules", "uplot");
  for (const name of ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"]) {
    const own = path.join(PAGE, "vendor", name === "LICENSE" ? "LICENSE" : path.basename(name));
    assert.equal(hash(own), hash(path.join(installed, name)), name);
  }
  const { version } = JSON.parse(fs.readFileSync(path.join(installed, "package.json"), "utf8"));
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(PAGE, "package.json"), "utf8"));
  assert.equal(dependencies.uplot, version);
});
