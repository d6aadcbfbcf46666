// Live values: what the server's ring has first, then what the stream brings; without a place for a stream, what the ring has
// again and again. Statistics of the window come from the server.

import * as api from "./api.js";
import { blockOf } from "./blocks.js";
import { StreamPlace } from "./place.js";
import { keyOf } from "./state.js";
import { secondsOf, textOf, ticksOf, ticksOfSeconds } from "./time.js";

/** The shortest and the longest time from one question to the next without a stream: counters are collected for a minute. */
const POLL_MS = { least: 500, most: 20_000 };

/** A window of live values that moves with time. Emits through the callbacks it is made with. */
export class LiveFeed {
  /** `onData()`: there is something new; `onState(text)`: "connecting", "live", "away", or "refused"; `onProblem(error)`. */
  constructor({ onData, onState, onProblem }) {
    Object.assign(this, { onData, onState, onProblem });
    this.generation = 0;
    this.block = null;
    this.isFollowing = false;
    this.place = new StreamPlace(() => this.isFollowing && this.withoutPlace());
    document.addEventListener("visibilitychange", () => this.seenOrNot());
  }

  /** Follows these paths from now on. */
  async start(source, paths, every, points) {
    const generation = this.end();
    Object.assign(this, { source, paths, every, points, isFollowing: true });
    this.onState("connecting");
    await this.ask(generation);
  }

  /** Follows nothing any more. */
  stop() {
    this.end();
    this.isFollowing = false;
    this.place.give();
  }

  /** Ends what is under way; answers the number of what comes now. */
  end() {
    this.events?.close();
    this.events = null;
    clearTimeout(this.again);
    this.generation += 1;
    return this.generation;
  }

  /** Takes what the ring has, then the stream where there is a place for it; else asks again after a while. */
  async ask(generation) {
    let state = "live";
    try {
      await this.fill(generation);
    } catch (problem) {
      if (generation !== this.generation) return;
      this.onProblem(problem);
      // What is refused once is refused again: the paths have to change.
      if ([400, 413, 414].includes(problem.status)) {
        this.stop();
        this.onState("refused");
        return;
      }
      state = "away";
    }
    if (generation !== this.generation) return;
    const hasPlace = await this.place.take();
    if (generation !== this.generation) {
      if (!this.isFollowing) this.place.give();
      return;
    }
    if (hasPlace) return this.listen(generation);
    this.onState(state);
    const wait = document.hidden ? POLL_MS.most : (this.source.interval ?? 1) * this.every * 1000;
    this.again = setTimeout(() => this.ask(generation), Math.max(POLL_MS.least, Math.min(POLL_MS.most, wait)));
  }

  /** Goes on without the stream. */
  withoutPlace() {
    this.ask(this.end());
  }

  /** A page that comes into sight takes up what it missed; one out of sight does not keep others from their streams. */
  seenOrNot() {
    if (!this.isFollowing || (document.hidden && navigator.locks)) return;
    if (document.hidden || !this.events) this.withoutPlace();
  }

  /** How long the window is, in seconds: no longer than what the server keeps, so that its statistics are of all of it. */
  window() {
    const interval = this.source.interval ?? 1;
    const kept = this.source.points ? this.source.points - 1 : Infinity;
    return Math.min(this.points * this.every, kept) * interval;
  }

  async fill(generation) {
    this.source = await api.source(this.source.id);
    const { source, paths, every } = this;
    const interval = (source.interval ?? 1) * every;
    const length = this.window();
    const end = source.end ? ticksOf(source.end) : null;
    const begin = end === null ? null : textOf(end - ticksOfSeconds(length));
    // Twice as many columns as points: each value has a column of its own where every collection is shown.
    const columns = Math.max(2, Math.min(2000, Math.round(length / interval) * (every === 1 ? 2 : 1)));
    const answer = await api.series(source.id, { paths, begin, end: end === null ? null : source.end, columns });
    if (generation !== this.generation) return;
    this.block = { ...blockOf(source, answer), interval };
    // Before the first sample there is no time but this browser's.
    if (!answer.end) Object.assign(this.block, { begin: Date.now() / 1000 - length, end: Date.now() / 1000 });
    this.byPath = new Map(this.block.lines.map((line) => [line.path, line]));
    this.order = [];
    this.trim();
    this.onData();
  }

  listen(generation) {
    const events = api.stream(this.paths, this.every);
    this.events = events;
    const mine = (act) => (event) => {
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
      // After an interruption the ring has what the stream missed.
      if (!isFirst) this.fill(generation).catch((problem) => this.onProblem(problem));
      isFirst = false;
    });
    events.addEventListener("series", mine((told) => this.takeSeries(told)));
    events.addEventListener("sample", mine((told) => this.takeSample(told, generation)));
    events.addEventListener("error", () => {
      if (generation !== this.generation) return;
      this.onState("away");
      if (events.readyState !== EventSource.CLOSED) return;
      // Refused, or the browser gave up: find out why, and try again.
      clearTimeout(this.again);
      this.again = setTimeout(() => this.start(this.source, this.paths, this.every, this.points), 2000);
    });
  }

  takeSeries({ series }) {
    this.order = series.map((told) => {
      const known = this.byPath.get(told.path);
      if (known) return known;
      const nothing = () => this.block.times.map(() => null);
      const { id: _, ...info } = told;
      const line = {
        ...info,
        key: keyOf(this.source.id, told.path),
        source: this.source,
        statistics: null,
        average: nothing(),
        minimum: nothing(),
        maximum: nothing(),
      };
      this.byPath.set(told.path, line);
      this.block.lines.push(line);
      return line;
    });
  }

  takeSample({ time, begin, values }, generation) {
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
    // A column without values where collections are missing, so that the line breaks there.
    if (Number.isFinite(last) && begin !== undefined && begin - last > 0.75 * block.interval) append((last + time) / 2, () => null);
    const told = new Map(this.order.map((line, index) => [line, values[index] ?? null]));
    append(time, (line) => told.get(line) ?? null);
    this.trim();
    this.onData();
    this.measure(generation);
  }

  /** Forgets what the window has left behind. */
  trim() {
    const { block } = this;
    const last = block.times.at(-1);
    if (last === undefined) return;
    block.end = last;
    block.begin = last - this.window();
    // One value before the window stays, so that the line starts at its border.
    let left = block.times.findIndex((time) => time >= block.begin) - 1;
    if (left > 0) {
      block.times.splice(0, left);
      for (const line of block.lines) for (const values of [line.average, line.minimum, line.maximum]) values.splice(0, left);
    }
    // Instances that are gone leave when their last value does.
    block.lines = block.lines.filter((line) => {
      const isKept = !this.order.length || this.order.includes(line) || line.average.some((value) => value !== null);
      if (!isKept) this.byPath.delete(line.path);
      return isKept;
    });
  }

  /** Asks for the statistics of the window, one question at a time. */
  async measure(generation) {
    if (this.isMeasuring || !this.block.times.length) return;
    this.isMeasuring = true;
    try {
      const { begin, end } = this.borders();
      const answer = await api.series(this.source.id, { paths: this.paths, begin, end, columns: 1 });
      if (generation !== this.generation) return;
      this.block.missing = answer.missing ?? [];
      const told = new Map(answer.series.map((series) => [series.path, series.statistics]));
      for (const line of this.block.lines) line.statistics = told.get(line.path) ?? null;
      this.onData();
    } catch (problem) {
      if (generation === this.generation && problem.status) this.onProblem(problem);
    } finally {
      this.isMeasuring = false;
    }
  }

  /** The window as the server is asked for it, in whole milliseconds: the last sample belongs to it. */
  borders() {
    const begin = ticksOfSeconds(this.block.begin);
    const end = ticksOfSeconds(Math.ceil(this.block.end * 1000) / 1000) + 10000n;
    return { begin: textOf(begin), end: textOf(end), seconds: { begin: secondsOf(begin), end: secondsOf(end) } };
  }
}
