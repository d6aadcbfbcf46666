// Measures the rate of animation frames while the crosshair moves over a chart with 2,300 live series: `run TACHO --frames`. This
// is not a test, because the result depends on what else runs on the machine.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { scratch, serve, test, withPage } from "./harness.mjs";

/** 2,300 series: 23 counters of each of 100 processes, which sleep, so that no series begins or ends. */
const PROCESSES = 100;
const COUNTERS = 23;
const SECONDS = 10;

test("frames", async () => {
  const program = path.join(scratch, "resting");
  fs.copyFileSync("/bin/sleep", program);
  fs.chmodSync(program, 0o755);
  const processes = Array.from({ length: PROCESSES }, () => spawn(program, ["1000"]));
  const server = await serve("--interval", "1");
  const { sets } = await (await fetch(`${server.url}api/sources/live/sets`)).json();
  const { counters } = sets.find(({ name }) => name === "Process");
  const panel = { id: 1, axis: "scaled", counters: counters.slice(0, COUNTERS).map(({ name }) => ({ path: `\\Process(resting*)\\${name}` })) };
  await withPage("frames", `${server.url}#points=100&panel=${encodeURIComponent(JSON.stringify(panel))}`, async (page) => {
    await page.waitForSelector("#live-state[data-state=live]");
    await page.locator("#chart .u-over").waitFor();
    // After several samples, the chart is in its usual state.
    const range = () => page.textContent("#range-text");
    for (let sample = 0; sample < 5; sample += 1) {
      const before = await range();
      await page.waitForFunction((then) => document.getElementById("range-text").textContent !== then, before, { timeout: 120_000 });
    }
    const box = await page.locator("#chart").boundingBox();
    await page.evaluate(() => {
      window.frames_ = [];
      const next = (at) => {
        window.frames_.push(at);
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    });
    const load = os.loadavg()[0];
    const start = Date.now();
    for (let step = 0; Date.now() - start < SECONDS * 1000; step += 1) await page.mouse.move(box.x + box.width * (0.1 + 0.8 * ((step % 200) / 200)), box.y + box.height * (0.2 + 0.6 * ((step % 37) / 37)));
    const times = await page.evaluate(() => window.frames_);
    const shown = await page.evaluate(() => [document.getElementById("legend-count").textContent, document.querySelector("#hover .hover-rest")?.textContent]);
    const gaps = times.slice(1).map((at, index) => at - times[index]).sort((one, other) => one - other);
    const at = (share) => gaps[Math.floor(gaps.length * share)];
    console.log(`${shown.join("; ")}; ${os.cpus().length} processors, load ${load.toFixed(1)}`);
    console.log(`${gaps.length} frames in ${((times.at(-1) - times[0]) / 1000).toFixed(1)} s; median ${(1000 / at(0.5)).toFixed(1)}/s, slowest tenth below ${(1000 / at(0.9)).toFixed(1)}/s, longest ${gaps.at(-1).toFixed(0)} ms`);
  });
  await server.stop();
  for (const one of processes) one.kill();
});
