// Logs for the tests: recorded BLGs and generated text logs.

import fs from "node:fs";
import path from "node:path";
import { scratch, tacho } from "./harness.mjs";

let recorded = null;

/** A recorded BLG with processors, memory and context switches: 60 samples at an interval of 0.1 s. */
export function recordedLog() {
  recorded ??= (async () => {
    const file = path.join(scratch, "recorded.blg");
    await tacho("record", "\\Processor Information(*)\\% Processor Time", "\\Memory\\Available Bytes", "\\System\\Context Switches/sec", "-o", file, "-si", "0.1", "-sc", "60");
    return file;
  })();
  return recorded;
}

/** A name with bidirectional control characters. */
export const TURNED = "a\u202eexe.txt\u2066\u0007";

/** A name that is HTML with a script. */
export const HOSTILE = `<img src=x onerror="document.title='taken'">`;

/**
 * A CSV log with `samples` samples, one per second. The first is `from` seconds after 2024-03-05 10:00:00 UTC. The counters have
 * distinct values. `machine` is the name of the machine. With `instance`, one of the counters is of this process.
 */
export function textLog(name, samples, { machine = "WEB1", instance = null, from = 0 } = {}) {
  const file = path.join(scratch, name);
  const counters = ["Processor Information(_Total)\\% Processor Time", "Memory\\Available MBytes", instance !== null ? `Process(${instance.replaceAll('"', '""')})\\% Processor Time` : "System\\Threads"];
  const two = (number) => String(number).padStart(2, "0");
  const lines = [`"(PDH-CSV 4.0) (UTC)(0)",${counters.map((counter) => `"\\\\${machine}\\${counter}"`).join(",")}`];
  let seed = 12345 + from;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  for (let index = 0; index < samples; index += 1) {
    const at = new Date(Date.UTC(2024, 2, 5, 10, 0, from + index));
    const time = `${two(at.getUTCMonth() + 1)}/${two(at.getUTCDate())}/${at.getUTCFullYear()} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}.000`;
    const values = [50 + 40 * Math.sin(index / 90) + 10 * random(), 4000 + 500 * random(), Math.floor(300 * random())];
    lines.push(`"${time}",${values.map((value) => `"${value}"`).join(",")}`);
  }
  fs.writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  return file;
}

/** The part of a link that describes panels. */
export const panelLink = (...panels) => panels.map((panel) => `panel=${encodeURIComponent(JSON.stringify(panel))}`).join("&");

/** A CSV log of one sample per second: `counters` maps a path to its value at a sample. The first is `from` seconds after 2024-03-05 10:00:00 UTC. */
export function logOf(name, counters, samples = 60, machine = "WEB1", from = 0) {
  const two = (number) => String(number).padStart(2, "0");
  const lines = [`"(PDH-CSV 4.0) (UTC)(0)",${Object.keys(counters).map((one) => `"\\\\${machine}${one}"`).join(",")}`];
  for (let index = 0; index < samples; index += 1) {
    const at = new Date(Date.UTC(2024, 2, 5, 10, 0, from + index));
    lines.push(`"03/05/2024 ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}.000",${Object.values(counters).map((valueAt) => `"${valueAt(index)}"`).join(",")}`);
  }
  const file = path.join(scratch, name);
  fs.writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  return file;
}
