// Live values: at first the values of the server's ring, and then those of a stream. Without a stream slot, the ring is polled.
// The server computes the statistics of the window.

import * as api from "./api.js";
import { blockOf } from "./blocks.js";
import { matcherOf } from "./paths.js";
import { keyOf } from "./state.js";
import { secondsOf, textOf, ticksOf, ticksOfSeconds } from "./time.js";

/** The minimum and maximum polling interval without a stream. The server stops collecting counters a minute after the last request for them. */
const POLL_MS = { min: 500, max: 20_000 };

/** A gap before one of this many first samples of a stream makes the page load the ring again; a later gap means missing collections. */
const UNCHECKED = 3;

/** A window has at least this many intervals, also if the server has fewer: the axis fits the values. */
const MIN_INTERVALS = 4;

/** A moving window of live values. */
export class LiveFeed {
  /** `onData()`: new data; `onState(text)`: "connecting", "live", "away", or "refused"; `onProblem(error)`. */
  constructor({ onData, onState, onProblem }) {
    Object.assign(this, { onData, onState, onProblem });
    this.generation = 0;
    this.block = null;
    /** The series of the stream, as it named them last. */
    this.series = null;
    this.isFollowing = false;
    this.slot = new StreamSlot(() => this.isFollowing && this.continueWithoutStream());
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
  }

  /** Starts to follow paths. */
  async start(source, paths, every, points, group) {
    const generation = this.cancelPending();
    Object.assign(this, { source, paths, every, points, group, isFollowing: true });
    this.onState("connecting");
    await this.load(generation);
  }

  /** Stops following. */
  stop() {
    this.cancelPending();
    this.isFollowing = false;
    this.slot.release();
  }

  /** Cancels pending work; returns the new generation. */
  cancelPending() {
    this.events?.close();
    this.events = null;
    this.series = null;
    clearTimeout(this.timer);
    this.generation += 1;
    return this.generation;
  }

  /** Loads the ring, then opens the stream if there is a slot; otherwise polls. */
  async load(generation) {
    let state = "live";
    try {
      await this.loadRing(generation);
    } catch (problem) {
      if (generation !== this.generation) return;
      this.onProblem(problem);
      // Retrying fails until the paths change.
      if ([400, 413, 414].includes(problem.status)) {
        this.stop();
        this.onState("refused");
        return;
      }
      state = "away";
    }
    if (generation !== this.generation) return;
    const hasSlot = await this.slot.acquire();
    if (generation !== this.generation) {
      if (!this.isFollowing) this.slot.release();
      return;
    }
    if (hasSlot) return this.listen(generation);
    this.onState(state);
    const wait = document.hidden ? POLL_MS.max : (this.source.interval ?? 1) * this.every * 1000;
    this.timer = setTimeout(() => this.load(generation), Math.max(POLL_MS.min, Math.min(POLL_MS.max, wait)));
  }

  /** Continues without a stream. */
  continueWithoutStream() {
    this.load(this.cancelPending());
  }

  /** A page that becomes visible catches up. A hidden page keeps its stream until another page needs one. Without Web Locks, it closes
   * its stream immediately. */
  visibilityChanged() {
    if (!this.isFollowing || (document.hidden && navigator.locks)) return;
    if (document.hidden || !this.events) this.continueWithoutStream();
  }

  /** The length of the window in seconds: at most what the server keeps, so that statistics cover it. */
  window() {
    const interval = this.source.interval ?? 1;
    const kept = this.source.points ? this.source.points - 1 : Infinity;
    return Math.min(this.points * this.every, kept) * interval;
  }

  async loadRing(generation) {
    this.source = await api.source(this.source.id);
    const { source, paths, every } = this;
    const interval = (source.interval ?? 1) * every;
    const length = this.window();
    const end = source.end ? ticksOf(source.end) : null;
    const begin = end === null ? null : textOf(end - ticksOfSeconds(length));
    // Twice as many columns as points, so that every collection has its own column.
    const columns = Math.max(2, Math.min(2000, Math.round(length / interval) * (every === 1 ? 2 : 1)));
    const response = await api.seriesWithin(source.id, { paths, begin, end: end === null ? null : source.end, columns, group_by: this.group });
    if (generation !== this.generation) return;
    this.block = { ...blockOf(source, response), interval };
    // Before the first sample, the browser's time is used.
    if (!response.end) Object.assign(this.block, { begin: Date.now() / 1000 - length, end: Date.now() / 1000 });
    this.byPath = new Map(this.block.lines.map((line) => [line.path, line]));
    this.order = [];
    // The stream names its series only when they change, which may have been before this response.
    if (this.series) this.assignLines();
    this.trim();
    this.onData();
  }

  listen(generation) {
    const intervals = Math.max(1, Math.round(this.window() / (this.source.interval ?? 1)));
    const events = api.stream({ paths: this.paths, every: this.every, window: intervals, group_by: this.group });
    this.hasStatistics = false;
    this.events = events;
    this.unchecked = UNCHECKED;
    const handle = (act) => (event) => {
      if (generation !== this.generation) return;
      try {
        act(JSON.parse(event.data));
      } catch (problem) {
        this.onProblem(problem);
      }
    };
    let isFirst = true;
    events.addEventListener("open", () => {
      if (generation !== this.generation) return;
      this.onState("live");
      // After an interruption, the ring has the samples that the stream missed.
      if (!isFirst) this.loadRing(generation).catch((problem) => this.onProblem(problem));
      isFirst = false;
    });
    events.addEventListener("series", handle((data) => this.setSeries(data)));
    events.addEventListener("statistics", handle((data) => this.setStatistics(data)));
    events.addEventListener("sample", handle((data) => this.addSample(data, generation)));
    events.addEventListener("recording", handle((data) => this.onRecording?.(data)));
    events.addEventListener("error", () => {
      if (generation !== this.generation) return;
      this.onState("away");
      if (events.readyState !== EventSource.CLOSED) return;
      // The server rejected the stream, or the browser gave up. `start` first sends a request, whose response says why.
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.start(this.source, this.paths, this.every, this.points, this.group), 2000);
    });
  }

  setSeries({ series }) {
    this.series = series;
    this.assignLines();
  }

  /** Assigns a line to each series of the stream, in the order of its values. */
  assignLines() {
    this.order = this.series.map((received) => {
      const known = this.byPath.get(received.path);
      if (known) return known;
      const emptyColumns = () => this.block.times.map(() => null);
      const { id: _, ...info } = received;
      const line = {
        ...info,
        key: keyOf(this.source.id, received.path),
        source: this.source,
        statistics: null,
        average: emptyColumns(),
        minimum: emptyColumns(),
        maximum: emptyColumns(),
      };
      this.byPath.set(received.path, line);
      this.block.lines.push(line);
      return line;
    });
    this.block.missing = this.block.missing.filter(({ path }) => !this.order.some((line) => matcherOf(path)(line.path)));
  }

  addSample({ time, begin, values }, generation) {
    const { block } = this;
    const last = block.times.at(-1) ?? -Infinity;
    if (!(time > last + 1e-4)) return;
    const append = (at, valueOf) => {
      block.times.push(at);
      for (const line of block.lines) {
        const value = valueOf(line);
        line.average.push(value);
        line.minimum.push(value);
        line.maximum.push(value);
      }
    };
    // The server can have collected samples between the response with the ring and the start of the stream.
    if (this.unchecked > 0 && Number.isFinite(last) && begin !== undefined && begin - last > 0.75 * block.interval) {
      this.unchecked -= 1;
      this.loadRing(generation).catch((problem) => this.onProblem(problem));
      return;
    }
    this.unchecked -= 1;
    // For missing collections, adds a column without values, so that the line has a gap.
    if (Number.isFinite(last) && begin !== undefined && begin - last > 0.75 * block.interval) append((last + time) / 2, () => null);
    const byLine = new Map(this.order.map((line, index) => [line, values[index] ?? null]));
    append(time, (line) => byLine.get(line) ?? null);
    this.trim();
    this.onData();
    // The stream sends no statistics if there are too many counters, and none before its first event.
    if (!this.hasStatistics) this.updateStatistics(generation);
    this.hasStatistics = false;
  }

  /** Sets the statistics of the window, in the order of the series. The server has no statistics for instances that have ended. */
  setStatistics({ statistics }) {
    if (!this.order.length) return;
    this.hasStatistics = true;
    const byLine = new Map(this.order.map((line, index) => [line, statistics[index] ?? null]));
    for (const line of this.block.lines) line.statistics = byLine.get(line) ?? null;
    this.onData();
  }

  /** Removes values before the window. */
  trim() {
    const { block } = this;
    const last = block.times.at(-1);
    if (last === undefined) return;
    block.end = last;
    // The window grows with the first values.
    block.begin = Math.max(last - this.window(), Math.min(block.times[0], last - MIN_INTERVALS * block.interval));
    // One value before the window is kept, so that the line starts at the edge.
    let left = block.times.findIndex((time) => time >= block.begin) - 1;
    if (left > 0) {
      block.times.splice(0, left);
      for (const line of block.lines) for (const values of [line.average, line.minimum, line.maximum]) values.splice(0, left);
    }
    // Lines of ended instances are removed together with their last value.
    block.lines = block.lines.filter((line) => {
      const isKept = !this.order.length || this.order.includes(line) || line.average.some((value) => value !== null);
      if (!isKept) this.byPath.delete(line.path);
      return isKept;
    });
  }

  /** Requests the statistics of the window, one request at a time. */
  async updateStatistics(generation) {
    if (this.isUpdatingStatistics || !this.block.times.length) return;
    this.isUpdatingStatistics = true;
    try {
      const { begin, end } = this.bounds();
      const response = await api.series(this.source.id, { paths: this.paths, begin, end, columns: 1, group_by: this.group });
      if (generation !== this.generation) return;
      this.block.missing = response.missing ?? [];
      const statistics = new Map(response.series.map((series) => [series.path, series.statistics]));
      for (const line of this.block.lines) line.statistics = statistics.get(line.path) ?? null;
      this.onData();
    } catch (problem) {
      if (generation === this.generation && problem.status) this.onProblem(problem);
    } finally {
      this.isUpdatingStatistics = false;
    }
  }

  /** The window for requests: rounded outward to whole milliseconds, including the last sample. */
  bounds() {
    const begin = ticksOfSeconds(this.block.begin);
    const end = ticksOfSeconds(Math.ceil(this.block.end * 1000) / 1000) + 10000n;
    return { begin: textOf(begin), end: textOf(end), seconds: { begin: secondsOf(begin), end: secondsOf(end) } };
  }
}

/** The maximum number of streams of all tabs of a browser together. */
const SLOTS = 3;
const WANTED = "wanted";

/**
 * The stream slot of a tab. A browser opens only six connections per server (HTTP/1.1) for all its tabs. If all tabs had streams, no connection
 * would be left. So only a few tabs have a stream; the others poll. A hidden tab acquires none, and releases its own if a visible tab needs it.
 */
class StreamSlot {
  /** `onLost()` is called when another tab needs the slot. */
  constructor(onLost) {
    this.onLost = onLost;
    this.unlock = null;
    this.acquiring = null;
    this.others = globalThis.BroadcastChannel ? new BroadcastChannel("tacho-stream") : null;
    this.others?.addEventListener("message", ({ data }) => {
      if (data !== WANTED || !document.hidden || !this.unlock) return;
      this.release();
      this.onLost();
    });
  }

  /** Acquires a slot; returns whether the tab has one. */
  async acquire() {
    if (this.unlock) return true;
    if (document.hidden) return false;
    // Locks require a secure context (this machine or TLS). Without locks, tabs cannot coordinate.
    if (!navigator.locks) return true;
    this.acquiring ??= this.acquireAny().finally(() => (this.acquiring = null));
    return this.acquiring;
  }

  async acquireAny() {
    for (let index = 0; index < SLOTS; index += 1) if (await this.acquireOne(`tacho-stream-${index}`)) return true;
    this.others?.postMessage(WANTED);
    return false;
  }

  /** A lock is held until the promise that its callback returns is fulfilled. */
  acquireOne(name) {
    return new Promise((resolve) => {
      const hold = (lock) => {
        resolve(lock !== null);
        return lock && new Promise((release) => (this.unlock = release));
      };
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => resolve(false));
    });
  }

  /** Releases the slot. */
  release() {
    this.unlock?.();
    this.unlock = null;
  }
}
