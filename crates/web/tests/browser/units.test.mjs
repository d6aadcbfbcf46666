// Modules of the page that need no browser.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { PAGE, test } from "./harness.mjs";

const importModule = (name) => import(pathToFileURL(path.join(PAGE, name)).href);

test("units: figures have three decimals, and durations have units", async () => {
  const { axisFigure, duration, figure } = await importModule("figures.js");
  for (const [value, text] of [
    [null, "---"], [undefined, "---"], [NaN, "---"], [Infinity, "---"], [0, "0.000"], [5309.188746893078, "5,309.189"],
    [0.1875, "0.188"], [-1234567.5, "-1,234,567.500"], [0.00012345, "0.000123"], [1e-7, "1.000e-7"], [1.5e15, "1.500e15"],
  ]) assert.equal(figure(value), text, String(value));
  // Node 18 cannot round ties to even; browsers can.
  const knowsTies = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0, roundingMode: "halfEven" }).format(0.5) === "0";
  if (knowsTies) assert.equal(figure(0.0625), "0.062");
  assert.equal(figure(255, "PERF_COUNTER_RAWCOUNT_HEX"), "0xff");
  for (const [seconds, text] of [[0, "0 s"], [0.25, "0.25 s"], [20, "20 s"], [599.996, "9 min 59 s"], [600, "10 min"], [3600, "1 h"], [5025.9, "1 h 23 min 45 s"], [172_770, "1 d 23 h 59 min"], [-1, "---"]]) assert.equal(duration(seconds), text);
  assert.equal(axisFigure(2500, 500), "2,500");
  assert.equal(axisFigure(0.25, 0.05), "0.25");
});

test("units: times keep seven decimals and their zones", async () => {
  const { moment, seconds, textOf, ticksOf, ticksOfSeconds, zoneOf } = await importModule("time.js");
  for (const text of ["2013-02-20T02:50:17.8440000Z", "2024-03-05T10:00:00.1234567Z", "1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00.0000000Z"]) assert.equal(textOf(ticksOf(text)), text);
  assert.equal(ticksOf("2024-03-05T10:00:00Z"), ticksOf("2024-03-05T10:00:00.0000000Z"));
  assert.equal(textOf(ticksOfSeconds(1361328617.844)), "2013-02-20T02:50:17.8440000Z");
  const pacific = zoneOf("log", { zone: "Pacific Standard Time", bias_minutes: 480 });
  assert.equal(moment(seconds("2013-02-20T02:50:17.8440000Z"), pacific), "2013-02-19 18:50:17.844");
  assert.equal(moment(0.25, zoneOf("utc", null)), "1970-01-01 00:00:00.250");
  const { timeMarks } = await importModule("ticks.js");
  const [march, november] = ["2013-03-10T10:00:00Z", "2013-11-03T09:00:00Z"];
  const changing = zoneOf("log", {
    zone: "PST",
    bias_minutes: 480,
    clock_changes: [{ at: march, zone: "PDT", bias_minutes: 420 }, { at: november, zone: "PST", bias_minutes: 480 }],
  });
  const shown = (text) => `${moment(seconds(text), changing).slice(5, 16)} ${changing.nameAt(seconds(text))}`;
  assert.deepEqual(["2013-03-10T09:59:00Z", march, "2013-11-03T08:59:00Z", november].map(shown), ["03-10 01:59 PST", "03-10 03:00 PDT", "11-03 01:59 PDT", "11-03 01:00 PST"]);
  // Days begin at midnight before and after a clock change; skipped hours have no tick, and no tick appears twice.
  const labels = (begin, end, most) => timeMarks(seconds(begin), seconds(end), most, changing).map(({ label }) => label);
  assert.deepEqual(labels("2013-11-01T07:00:00Z", "2013-11-06T08:00:00Z", 6), ["11-01", "11-02", "11-03", "11-04", "11-05", "11-06"]);
  assert.deepEqual(labels("2013-11-03T01:00:00Z", "2013-11-04T02:00:00Z", 5), ["18:00", "00:00", "06:00", "12:00", "18:00"]);
  assert.deepEqual(labels("2013-03-10T08:00:00Z", "2013-03-10T12:00:00Z", 5), ["00:00", "01:00", "03:00", "04:00", "05:00"]);
});

test("units: the ticks of axes are within the range, in round steps", async () => {
  const { timeMarks, valueMarks, valueRange } = await importModule("ticks.js");
  const { zoneOf } = await importModule("time.js");
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 2000; round += 1) {
    const low = (random() - 0.5) * 10 ** (random() * 18 - 6);
    const high = low + (round % 50 ? Math.abs(low) * 1e-5 : 0) + 10 ** (random() * 18 - 6);
    const most = 2 + Math.floor(random() * 10);
    const marks = valueMarks(low, high, most);
    assert.ok(marks.length <= most + 1, `${low} ${high} ${most}: ${marks.length}`);
    assert.ok(marks.every(({ at }) => at >= low - (high - low) * 1e-6 && at <= high + (high - low) * 1e-6));
    const [bottom, top] = valueRange(low, high, most);
    const slack = (top - bottom) * 1e-6;
    assert.ok(bottom <= low + slack && top >= high - slack && bottom <= 0 && top >= 0, `${low} ${high}: ${bottom} ${top}`);
    const begin = 1.7e9 * random();
    const end = begin + 10 ** (random() * 10 - 2);
    for (const zone of [null, zoneOf("utc", null)]) {
      const times = timeMarks(begin, end, most, zone);
      assert.ok(times.length <= most + 1, `${begin} ${end} ${most}: ${times.length}`);
      assert.ok(times.every(({ at }) => at >= begin - 1e-5 && at <= end + 1e-5));
    }
  }
  assert.deepEqual(valueRange(Infinity, -Infinity, 5), [0, 100]);
});

test("units: a line breaks where values are missing, not between columns", async () => {
  const { joined, nearestRow, withGaps } = await importModule("blocks.js");
  const times = [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5];
  // One value per second, in columns of half a second; the value at 3 is missing.
  const values = [1, null, 2, null, 3, null, null, null, 4, null, 5];
  const expected = withGaps(times, values, 1);
  assert.deepEqual(expected, [1, undefined, 2, undefined, 3, null, null, null, 4, undefined, 5]);
  assert.deepEqual(withGaps([0, 1, 2], [null, 7, null], 1), [undefined, 7, undefined]);
  const block = (own, average, key) => ({ times: own, interval: 1, lines: [{ key, average, minimum: average, maximum: average }] });
  const both = joined([block([0, 1, 2], [1, 2, 3], "a"), block([0.5, 1, 2.5], [4, null, 6], "b")], () => true, () => 10);
  assert.deepEqual(both.times, [0, 0.5, 1, 2, 2.5]);
  assert.deepEqual(both.columns[0].average, [10, undefined, 20, 30, undefined]);
  assert.deepEqual(both.columns[1].average, [undefined, 40, null, undefined, 60]);
  const line = { average: values };
  assert.equal(nearestRow({ times }, line, 2.2, 1), 4);
  assert.equal(nearestRow({ times }, line, 3, 0.9), -1);
});

test("units: a link restores the state, and a forged one is harmless", async () => {
  const { fromFragment, toFragment } = await importModule("link.js");
  const { panelOf } = await importModule("panels.js");
  const { keyOf, panelKey, state } = await importModule("state.js");
  const path = "\\Process(a~b&c=d #1%)\\% Time";
  const panel = panelOf({ id: 3, title: "Ours", kind: "stacked", axis: "logarithmic", min: 1, limits: [5, 7.5], bands: [[-1, 2.5]], width: 2, counters: [{ path, label: "a~b", except: ["\\X\\Y"], colour: 5 }, { path: "\\Memory\\Available Bytes", or: ["\\Memory\\Available MBytes"] }] });
  const table = panelOf({ id: 4, kind: "table", table: { set: "Process", columns: [{ title: "NAME" }, { title: "CPU %", counter: "% Processor Time" }, { title: "USER", property: "User" }], sort: "CPU %", top: 5, filter: "a b", tree: "parent", process: "ID Process", parent: "Creating Process ID" } });
  const key = panelKey(panel, keyOf("2", `\\\\VM${path}`));
  Object.assign(state, { shift: 86_400, group: "name", columns: ["average", "p95"], annotations: [{ begin: 1361328617.5, end: null, text: "a~b <c>" }, { begin: 1361328618, end: 1361328619.25, text: "" }], viewName: null, isAlignChosen: true, title: "Two", savedName: "Ours ~", isChanged: true, panels: [panel, table], open: 4, numbers: "raw", sources: ["live", "2"], range: { begin: 1361328617.844, end: 1361328620.001 }, align: "start", zone: "utc", figure: "maximum", every: 5, points: 1000, selected: key, sort: { column: "average", isDescending: true }, removed: new Set([key]) });
  state.legend.set(key, { styleIndex: 11, scale: "-3", isHidden: true, isHighlighted: true, isColoured: true });
  const expected = fromFragment(toFragment((id) => `log ~${id}`), (id, name) => (name === `log ~${id}` ? id : null));
  assert.deepEqual(expected.missing, []);
  assert.deepEqual(expected.panels, state.panels);
  for (const [name, value] of Object.entries(expected.parts)) assert.deepEqual(value, state[name], name);
  // A link is valid although the id of its log has changed.
  const moved = fromFragment(toFragment((id) => `log ${id}`), (id) => (id === "2" ? "7" : null));
  assert.deepEqual(moved.missing, ["log live"]);
  assert.deepEqual(moved.parts.sources, ["7"]);
  assert.equal(moved.parts.selected, panelKey(panel, keyOf("7", `\\\\VM${path}`)));
  // Links to a view of the server, and links of an earlier version.
  state.viewName = "overview";
  const named = fromFragment(toFragment((id) => id), (id) => id);
  assert.deepEqual([named.viewName, named.panels], ["overview", null]);
  const earlier = fromFragment("view=histogram&path=%5CMemory%5CA&path=%5CMemory%5CB&line=2~fit~h~live%20%5C%5Cvm%5Cmemory%5Ca", (id) => id);
  assert.deepEqual(earlier.panels.map(({ kind, counters }) => [kind, counters.map((counter) => counter.path)]), [["bars", ["\\Memory\\A", "\\Memory\\B"]]]);
  assert.deepEqual([...earlier.parts.legend.keys()], ["1.live \\\\vm\\memory\\a"]);
  for (const forged of ["", "range=5~1&every=0&points=1e9&view=evil&line=~~~", "line=99999~fit~~x&line=1~55~~x&range=NaN~x&source=~&sort=", "%E0%A4%A&path=&=&&&range=~", "note=&note=x~y~z&note=5~1~a&note=~~&shift=-1&shift=1e9&group=evil&columns=evil&range=~x", "panel=%7B&panel=null&panel=%5B1%5D&panel=%7B%22kind%22%3A%22evil%22%2C%22id%22%3A%22x%22%2C%22counters%22%3A5%2C%22limits%22%3A%5B%22a%22%5D%2C%22width%22%3A99%7D&open=%2F..%2F&alone=-1"]) {
    const { parts, panels, problems } = fromFragment(forged, () => null);
    assert.equal(problems.length > 0, forged !== "", forged);
    assert.equal(parts.range, null);
    assert.equal(parts.every, 1);
    assert.deepEqual([parts.annotations, parts.shift, parts.group], [[], 0, "none"]);
    assert.equal(parts.points, 100);
    assert.ok(!panels?.some(({ kind }) => kind !== "line"));
    assert.deepEqual(parts.sources, []);
    assert.equal(parts.legend.size, 0);
  }
});

test("units: scales fit, and zooms stay within the data", async () => {
  const { factorText, fittingPower } = await importModule("axes.js");
  for (const [maximum, power] of [[0, 0], [null, 0], [100, 0], [100.1, -1], [10, 1], [9.99, 1], [23e9, -9], [0.5, 2], [1e-12, 9]]) assert.equal(fittingPower(maximum), power, String(maximum));
  assert.equal(factorText(-6), "0.000001");
  assert.equal(factorText(3), "1000.0");
  const { moved, withinWhole, zoomed } = await importModule("zoom.js");
  const whole = { begin: 1000, end: 2000 };
  assert.equal(withinWhole(zoomed(whole, 2), whole), null);
  assert.deepEqual(withinWhole(zoomed(whole, 0.5), whole), { begin: 1250, end: 1750 });
  assert.deepEqual(withinWhole(moved({ begin: 1800, end: 1900 }, 5), whole), { begin: 1900, end: 2000 });
  assert.deepEqual(withinWhole({ begin: 1500, end: 1500 }, whole), { begin: 1499.999, end: 1500.001 });
  // The first and last sample stay reachable; moving keeps the length.
  const log = { begin: 1361328617.844, end: 1361328677.845 };
  assert.deepEqual(withinWhole({ begin: 1361328647.8441, end: 1361328677.84499 }, log), { begin: 1361328647.844, end: 1361328677.845 });
  assert.deepEqual(withinWhole({ begin: 1361328617.8441, end: 1361328647.8449 }, log), { begin: 1361328617.844, end: 1361328647.845 });
  let range = { begin: 1361328620.001, end: 1361328621.004 };
  for (let step = 0; step < 100; step += 1) range = withinWhole(moved(range, step % 2 ? 0.25 : -0.25), log);
  assert.equal(Math.round((range.end - range.begin) * 1000), 1003);
  const { textOf, ticksOf, wholeMilliseconds } = await importModule("time.js");
  const [begin, end] = wholeMilliseconds(ticksOf("1969-12-31T23:59:58.0000001Z"), ticksOf("2013-02-20T02:50:17.8440001Z"));
  assert.deepEqual([textOf(begin), textOf(end)], ["1969-12-31T23:59:58.0000000Z", "2013-02-20T02:50:17.8450000Z"]);
});

test("units: a removed counter returns only when a path that selects it is added", async () => {
  const { addedTo, keyOf, panelKey, state } = await importModule("state.js");
  const { panelOf } = await importModule("panels.js");
  const [times, faults] = ["\\Process(*)\\% Processor Time", "\\Process(*)\\Page Faults/sec"];
  const panel = panelOf({ counters: [{ path: times }, { path: faults }] });
  const other = panelOf({ counters: [{ path: faults }] });
  const key = (path, of = panel) => panelKey(of, keyOf("2", `\\\\VM${path.replace("*", "init (1)")}`));
  const start = () => Object.assign(state, { removed: new Set([key(times), key(faults), key(faults, other)]) });
  const add = (path) => {
    const { counters, removed, isMore } = addedTo(panel, [path]);
    return { paths: counters.map((counter) => counter.path), removed: [...removed], isMore };
  };
  start();
  // Its own path is added.
  assert.deepEqual(add(times.replace("*", "INIT (1)")), { paths: [times, faults, times.replace("*", "INIT (1)")], removed: [key(faults), key(faults, other)], isMore: true });
  // The known path with wildcards is added again. The counter returns only in this panel.
  assert.deepEqual(add(faults), { paths: [times, faults], removed: [key(times), key(faults, other)], isMore: true });
  state.removed = new Set();
  assert.ok(!add(faults).isMore, "already known");
  assert.ok(add("\\Memory\\Available Bytes").isMore);
});

test("units: values have the units of the terminal monitor", async () => {
  const { smallestTop, tickText, valueText } = await importModule("units.js");
  // crates/web/tests/units.rs writes and checks this file.
  const rows = fs.readFileSync(path.join(PAGE, "../tests/units.tsv"), "utf8").trim().split("\n");
  assert.ok(rows.length > 1000, `${rows.length} rows`);
  for (const row of rows) {
    const [kind, symbol, factor, smallest, value, text, tick] = row.split("\t");
    const format = { kind, symbol, factor: Number(factor) };
    assert.equal(smallestTop(format), Number(smallest), row);
    assert.deepEqual([valueText(Number(value), format), tickText(Number(value), format)], [text, tick], row);
  }
});

test("units: typed times can be relative, without a date, or complete", async () => {
  const { parseTime } = await importModule("typed-time.js");
  const { zoneOf, seconds } = await importModule("time.js");
  const at = (text) => seconds(`${text}Z`);
  const whole = { begin: at("2024-03-05T08:30:00"), end: at("2024-03-06T09:00:00") };
  const berlin = zoneOf("log", { zone: "CET", bias_minutes: -60 });
  for (const [text, expected] of [
    ["-1h", at("2024-03-06T08:00:00")], ["- 90 min", at("2024-03-06T07:30:00")], ["now-30s", at("2024-03-06T08:59:30")], ["end", whole.end], ["start", whole.begin],
    // A time without a date is on the last day on which it is within the range.
    ["09:59", at("2024-03-06T08:59:00")], ["14:05", at("2024-03-05T13:05:00")], ["14:05:30.5", at("2024-03-05T13:05:30.5")],
    ["2024-03-05 14:05", at("2024-03-05T13:05:00")], ["2024-03-05T14:05:30", at("2024-03-05T13:05:30")], ["2024-03-05", at("2024-03-04T23:00:00")],
    ["2024-03-05T14:05:30Z", at("2024-03-05T14:05:30")], ["2024-03-05T14:05:30+02:00", at("2024-03-05T12:05:30")],
    // Month first, as in Performance Monitor; `+` counts from the start, or from a given moment.
    ["3/5/2024 2:05:30 PM", at("2024-03-05T13:05:30")], ["03/05/2024 12:21:00.5 am", at("2024-03-04T23:21:00.5")], ["3/5/24", at("2024-03-04T23:00:00")], ["3/5/2024 14:05", at("2024-03-05T13:05:00")], ["02:05 pm", at("2024-03-05T13:05:00")],
    ["+30s", at("2024-03-05T08:30:30")], ["13/5/2024", null], ["2/30/2024", null], ["3/5/2024 13:05 PM", null], ["3/5/2024 0:05 AM", null], ["3/5/2024 noon", null], ["now+30s", null],
    ["", null], ["25:00", null], ["14:60", null], ["2024-02-30", null], ["-1y", null], ["tomorrow", null], ["1:2:3:4", null],
  ]) assert.equal(parseTime(text, whole, berlin), expected, text);
  assert.equal(parseTime("+30s", whole, berlin, at("2024-03-05T10:00:00")), at("2024-03-05T10:00:30"));
  // Times from the start of the data.
  for (const [text, expected] of [["1:30", 90], ["1:00:05", 3605], ["12.5", 12.5], ["-1m", 540], ["+1m", 60], ["1:30 PM", null]]) assert.equal(parseTime(text, { begin: 0, end: 600 }, null), expected, text);
});

test("units: axes have round steps in their units, and powers of ten", async () => {
  const { powerMarks, powerRange, valueMarks, valueRange } = await importModule("ticks.js");
  const format = (kind, symbol = "") => ({ kind, symbol, factor: 1 });
  const labels = (high, of) => valueMarks(...valueRange(0, high, 4, of), 4, of).map(({ label }) => label);
  assert.deepEqual(labels(24e9, format("bytes")), ["0 GiB", "8 GiB", "16 GiB", "24 GiB"]);
  // All ticks of an axis have the same prefix.
  assert.deepEqual(labels(1.4 * 2 ** 30, format("bytes")), ["0 GiB", "0.5 GiB", "1 GiB", "1.5 GiB"]);
  assert.deepEqual(labels(0.0123, format("seconds")), ["0 ms", "5 ms", "10 ms", "15 ms"]);
  assert.deepEqual(labels(3000, format("seconds")).slice(0, 2), ["0 s", "20 min"]);
  assert.deepEqual(labels(28.8e6, format("si", "B/s")), ["0 MB/s", "10 MB/s", "20 MB/s", "30 MB/s"]);
  assert.deepEqual(labels(99.9, format("plain", "%")), ["0 %", "50 %", "100 %"]);
  // Noise does not fill an axis, also if all values are 0. An axis with negative values has its own scale.
  const percent = format("plain", "%");
  assert.deepEqual([0, 0.001, 4.8].map((most) => valueRange(0, most, 5, percent)[1]), [5, 5, 5]);
  assert.deepEqual(labels(0.001, percent), ["0 %", "2 %", "4 %", "6 %"]);
  assert.equal(valueRange(0, 3, 5, format("si", "B/s"))[1], 10_000);
  assert.equal(valueRange(0, 12_345, 5, format("si", "B/s"))[1], 15_000);
  assert.ok(valueRange(-0.001, 0.001, 5, percent)[1] < 0.01);
  assert.deepEqual(valueRange(0, 0, 5, format("seconds")), [0, 1]);
  const [low, high] = powerRange(0.004, 30);
  assert.deepEqual([low, high], [0.001, 100]);
  assert.deepEqual(powerMarks(low, high, 9, format("plain", "%")).map(({ label }) => label), ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
});

test("units: ticks of time are dense, with dates where the day changes", async () => {
  const { timeMarksWithin } = await importModule("ticks.js");
  const { rangeText, sampleMoment, zoneOf } = await importModule("time.js");
  const utc = zoneOf("utc", null);
  const at = (text) => Date.parse(`${text}Z`) / 1000;
  const marks = (from, to, width) => timeMarksWithin(at(from), at(to), width, utc).map(({ label, second }) => [label, second].filter(Boolean).join(" "));
  assert.deepEqual(marks("2026-03-04T00:00", "2026-03-05T23:59", 472), ["00:00 2026-03-04", "06:00", "12:00", "18:00", "00:00 03-05", "06:00", "12:00", "18:00"]);
  assert.deepEqual(marks("2026-03-05T06:00", "2026-03-05T09:00", 300), ["06:00 2026-03-05", "06:30", "07:00", "07:30", "08:00", "08:30", "09:00"]);
  // Labels with seconds have more room.
  assert.deepEqual(marks("2026-03-05T06:00:00", "2026-03-05T06:01:00", 320), ["06:00:00 2026-03-05", "06:00:15", "06:00:30", "06:00:45", "06:01:00"]);
  assert.deepEqual(marks("2025-12-30T00:00", "2026-01-02T12:00", 250), ["12-30 2025", "12-31", "01-01 2026", "01-02"]);
  assert.equal(rangeText(at("2026-03-04T00:00"), at("2026-03-05T23:59:30"), utc), "2026-03-04 00:00 – 03-05 23:59");
  assert.equal(rangeText(at("2026-03-05T06:00"), at("2026-03-05T06:00:20"), utc), "2026-03-05 06:00:00 – 06:00:20");
  assert.equal(rangeText(at("2025-12-31T23:00"), at("2026-01-01T05:00"), utc), "2025-12-31 23:00 – 2026-01-01 05:00");
  // The end of a log is a millisecond after its last sample.
  assert.equal(sampleMoment(at("2026-03-05T23:59:30.001"), utc, true), "2026-03-05 23:59:30");
  assert.equal(sampleMoment(at("2026-03-05T23:59:30.25"), utc, false), "2026-03-05 23:59:30.250");
});

test("units: values without neighbours are points, and areas are stacked on values only", async () => {
  const { isolatedRows, valueRuns } = await importModule("blocks.js");
  assert.deepEqual(isolatedRows([1, null, 2, undefined, 3, null, 4]), [0, 6]);
  assert.deepEqual(valueRuns([1, undefined, 2, null, null, 3]), [[0, 2], [5]]);
});

test("units: colours have contrast to the background and to each other, also for colour-blind readers", async () => {
  const { lineStyle, STYLES } = await importModule("palette.js");
  const linear = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = ([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const contrast = (one, other) => {
    const [dark, light] = [luminance(linear(one)), luminance(linear(other))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  // CIELAB of linear sRGB.
  const lab = ([red, green, blue]) => {
    const root = (share) => (share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116);
    const [x, y, z] = [(0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047, luminance([red, green, blue]), (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883].map(root);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  // Matrices for colour blindness of full severity: Machado, Oliveira and Fernandes (2009).
  const eyes = {
    usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
  };
  const seen = (eye, colour) => lab(eye.map((row) => Math.max(0, Math.min(1, row.reduce((sum, factor, at) => sum + factor * linear(colour)[at], 0)))));
  for (const [theme, ground] of [["light", "#ffffff"], ["dark", "#14181d"]]) {
    const colours = Array.from({ length: 8 }, (_, number) => lineStyle(number, theme).colour);
    for (const colour of colours) assert.ok(contrast(colour, ground) >= 3, `${colour} on ${ground}: ${contrast(colour, ground)}`);
    for (const [name, eye] of Object.entries(eyes)) {
      for (const [at, one] of colours.entries()) {
        for (const other of colours.slice(0, at)) {
          const distance = Math.hypot(...seen(eye, one).map((value, axis) => value - seen(eye, other)[axis]));
          assert.ok(distance >= 15, `${theme}, ${name}: ${one} and ${other} are ${distance.toFixed(1)} apart`);
        }
      }
    }
  }
  // Styles with the same colour differ in their dashes.
  const styles = new Set(Array.from({ length: STYLES }, (_, number) => JSON.stringify(lineStyle(number, "dark"))));
  assert.equal(styles.size, STYLES);
});

test("units: the ends and limits of a panel belong to its unit", async () => {
  const { axesOf, rangeOf } = await importModule("axes.js");
  const percent = { kind: "plain", symbol: "%", factor: 1 };
  const kib = { kind: "bytes", symbol: "", factor: 1024 };
  const [load, memory] = [{ key: "1.live load", format: percent }, { key: "1.live memory", format: kib }];
  const panel = { axis: "linear", unit: "%", min: 0, max: 100 };
  const ends = (axis) => rangeOf(panel, axis, { low: 0, high: 7, positive: 1 }, 5);
  const { axes, axisOf } = axesOf(panel, [memory, load], [memory, load]);
  assert.deepEqual([axes[0].format.symbol, axisOf(load).side, axisOf(memory).side], ["%", 3, 1]);
  assert.deepEqual(ends(axisOf(load)), [0, 100]);
  assert.notEqual(ends(axisOf(memory))[1], 100);
  // If the line with the unit is hidden, the ends do not apply to other lines. Without a unit, they have the unit of the first line.
  assert.equal(axesOf(panel, [memory], [memory, load]).axes[0].isMain, false);
  const free = { ...panel, unit: null };
  assert.equal(axesOf(free, [load], [memory, load]).axes[0].isMain, false);
  assert.equal(rangeOf(free, axesOf(free, [load, memory], [memory, load]).axes[0], { low: 0, high: 7, positive: 1 }, 5)[1], 102_400);
  // If no line has the unit, the ends apply to the first axis.
  assert.equal(axesOf({ ...panel, unit: "seconds" }, [memory], [memory]).axes[0].isMain, true);
});

test("units: invalid values in links are replaced", async () => {
  const { fromFragment } = await importModule("link.js");
  const panels = [{ id: 3, kind: "toString", axis: "constructor" }, { id: 3, kind: "bars" }, { id: 1e12 }, null];
  const text = new URLSearchParams(panels.map((panel) => ["panel", JSON.stringify(panel)]));
  const { panels: read, problems } = fromFragment(text.toString(), () => null);
  assert.equal(new Set(read.map(({ id }) => id)).size, 3);
  assert.deepEqual(problems, ["panel=null"]);
  assert.ok(read.every(({ id }) => id < 1e9));
  assert.deepEqual([read[0].id, read[0].kind, read[0].axis, read[1].kind], [3, "line", "linear", "bars"]);
  const name = "Übersicht (Büro).toml";
  assert.equal(fromFragment(new URLSearchParams({ open: name }).toString(), () => null).viewName, name);
  assert.equal(fromFragment(new URLSearchParams({ open: "x".repeat(256) }).toString(), () => null).viewName, null);
});

test("units: a colour that the view chose is not assigned to another counter", async () => {
  const { entry, setPresent, state } = await importModule("state.js");
  state.legend.clear();
  const keys = ["9.live a", "9.live b", "9.live c"];
  entry(keys[0], { styleIndex: 0, isColoured: true, isOfView: true });
  entry(keys[1]);
  entry(keys[2], { styleIndex: 1, isColoured: true, isOfView: true });
  setPresent(new Set(keys));
  assert.deepEqual(keys.map((key) => entry(key).styleIndex), [0, 2, 1]);
  state.legend.clear();
});

test("units: an instance has the same colour in all panels, unless another one of the panel has it", async () => {
  const { change, entry, setPresent, state } = await importModule("state.js");
  const { lineStyle } = await importModule("palette.js");
  const colour = (key) => lineStyle(entry(key).styleIndex, "light").colour;
  const key = (panel, set, instance, counter) => `${panel}.live \\${set}(${instance})\\${counter}`;
  state.legend.clear();
  // Neighbours differ, so these panels have no conflicts.
  const names = ["sda", "sdb", "sdc", "sdd"];
  const reads = names.map((name) => key(11, "physicaldisk", name, "disk reads/sec"));
  const writes = names.toReversed().map((name) => key(12, "physicaldisk", name, "disk writes/sec"));
  setPresent(new Set([...reads, ...writes]));
  const shown = reads.map(colour);
  assert.equal(new Set(shown).size, 4);
  assert.deepEqual(writes.map(colour).toReversed(), shown);
  // After another view, and on a machine that the path names.
  setPresent(new Set());
  assert.equal(state.legend.size, 0);
  assert.deepEqual(reads.map(colour), shown);
  assert.equal(colour(`13.fleet \\\\host\\physicaldisk(sdb)\\disk reads/sec`), shown[1]);
  // Counters without instance, and _Total, have colours of their own, again the same in each panel.
  const totals = ["user", "privileged"].map((name) => `14.live \\processor(_total)\\% ${name} time`);
  assert.equal(colour(totals[1]), colour(totals[1].replace("14.", "15.")));
  // In one panel, all styles differ: the first eight in their colours.
  const many = Array.from({ length: 40 }, (_, index) => key(16, "process", `p${index * 8}`, "% processor time"));
  assert.equal(new Set(many.slice(0, 8).map(colour)).size, 8);
  assert.equal(new Set(many.map((one) => entry(one).styleIndex)).size, 40);
  change({ legend: new Map() });
});

test("units: typed durations are read and written with their units", async () => {
  const { parseLength } = await importModule("typed-time.js");
  const { lengthText } = await importModule("earlier.js");
  for (const [text, seconds] of [["1d", 86_400], ["-1 h", 3600], ["90 min", 5400], ["2 weeks", 1_209_600], ["1.5 days", 129_600], ["10s", 10], ["7", null], ["0 s", null], ["1 month", null], ["1e9 d", null], ["soon", null]]) assert.equal(parseLength(text), seconds, text);
  for (const [seconds, text] of [[86_400, "1 d"], [5400, "90 min"], [1_209_600, "2 weeks"], [7, "7 s"]]) assert.equal(lengthText(seconds), text);
  for (const seconds of [1, 90, 3600, 86_400, 604_800]) assert.equal(parseLength(lengthText(seconds)), seconds);
});

test("units: rows are below their parents, sorted by the busiest of their descendants", async () => {
  const { groupLines, parentsOf, treeLines } = await importModule("table-tree.js");
  const row = (name, id, parent) => ({ name, source: { id: "live" }, machine: "VM", isReserved: false, lines: new Map([["id", { statistics: { last: id } }], ["parent", { statistics: { last: parent } }]]) });
  const [init, shell, busy, other, lost, one, two] = [row("init", 1, 0), row("shell", 10, 1), row("busy", 11, 10), row("other", 12, 1), row("lost", 20, 99), row("one", 31, 32), row("two", 32, 31)];
  const sorted = [busy, other, lost, shell, init];
  const table = { set: "Process", process: "ID", parent: "Parent" };
  const text = (lines) => lines.map((line) => `${" ".repeat(line.depth)}${line.row.name}${line.isContext ? "?" : ""}`);
  assert.deepEqual(text(treeLines(sorted, () => true, parentsOf(sorted, table))), ["init", " shell", "  busy", " other", "lost"]);
  assert.deepEqual(text(treeLines(sorted, (each) => each === busy, parentsOf(sorted, table))), ["init?", " shell?", "  busy"]);
  // Parents can form a cycle.
  assert.deepEqual(text(treeLines([one, two], () => true, parentsOf([one, two], table))).sort(), [" two", "one"].sort());
  const groups = new Map([[busy, "/a"], [other, "/b"], [shell, "/a"]]);
  assert.deepEqual(groupLines([busy, other, shell, lost], (each) => groups.get(each)).map((line) => line.group ?? line.row.name), ["/a", "busy", "shell", "/b", "other", "(unknown group)", "lost"]);
  const control = ["/", "/a", "/a/b"].map((name) => ({ name, source: { id: "live" }, machine: "VM", lines: new Map() }));
  assert.deepEqual(text(treeLines(control, () => true, parentsOf(control, { set: "Cgroup" }))), ["/", " /a", "  /a/b"]);
});

test("units: an empty panel says whether values are 0, missing, or of instances that do not exist", async () => {
  const { whyNoLines } = await importModule("panel-data.js");
  const panel = { counters: [{ path: "\\Paging File(*)\\% Usage" }] };
  const why = (removed, isRunning) => whyNoLines(panel, { blocks: [{ lines: [], removed }] }, isRunning);
  const zero = { statistics: { minimum: 0, maximum: 0 }, average: [0, 0] };
  const none = { statistics: { minimum: null, maximum: null }, average: [null, null] };
  assert.equal(why([none, zero], true), "All values are 0 in this time range.");
  assert.equal(why([none], false), "No values in this time range.");
  assert.equal(why([none, { statistics: null, average: [undefined, null] }], true), "No values yet.");
  assert.equal(why([], true), "No values yet. This machine may have no instances of \\Paging File(*)\\% Usage.");
});
