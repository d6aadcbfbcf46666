// Recording this machine's counters into a log on the server: one recording at a time, which all pages show.

import * as api from "./api.js";
import { byId, setText } from "./element.js";
import { count, fileSize } from "./figures.js";
import { announce, showError, showNotice } from "./messages.js";
import { state } from "./state.js";

/** Without a stream, the state is requested at this interval, in milliseconds. */
const POLL_MS = 5000;

/** The menu with the state of the recording. `feed` has its events; `sources` opens the log. */
export class Recorder {
  constructor({ feed, sources }) {
    Object.assign(this, { feed, sources });
    this.status = null;
    this.updated = 0;
    feed.onRecording = (status) => this.show(status);
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("record-view", () => this.start({ paths: pathsOfView() }));
    click("record-all", () => this.start({ all: true }));
    click("record-stop", () => this.stop());
    click("record-open", () => this.open());
    setInterval(() => this.poll(), POLL_MS);
  }

  /** Requests the state if no stream reports it. */
  async poll() {
    if (this.status?.is_allowed && !document.hidden && performance.now() - this.updated > POLL_MS) await this.load();
  }

  async load() {
    try {
      this.show(await api.recording());
    } catch {
    }
  }

  async start(counters) {
    if (counters.paths && !counters.paths.length) return showError("The view has no counters to record.");
    try {
      const status = await api.startRecording(counters);
      this.show(status);
      if (status.missing.length) showNotice(`Not recorded: ${status.missing.map(({ path, reason }) => `${path} (${reason})`).slice(0, 3).join(", ")}`);
    } catch (problem) {
      showError(problem);
      await this.load();
    }
    return undefined;
  }

  async stop() {
    try {
      this.show(await api.stopRecording());
    } catch (problem) {
      showError(problem);
    }
  }

  async open() {
    await this.sources.load();
    await this.sources.open(this.status.log);
  }

  show(status) {
    const before = this.status;
    // An event can be older than the response to a request.
    if (before && status.version < before.version) return;
    this.status = status;
    this.updated = performance.now();
    byId("record-menu").hidden = !status.is_allowed;
    const size = fileSize(status.bytes);
    setText(byId("record-title"), status.is_running ? `Recording ${size}` : "Record");
    byId("record-menu").classList.toggle("recording", status.is_running);
    setText(byId("record-state"), textOf(status, size));
    byId("record-start").hidden = status.is_running;
    byId("record-stop").hidden = !status.is_running;
    byId("record-open").hidden = !status.log || !status.samples;
    if (!before || before.is_running === status.is_running) return;
    announce(status.is_running ? "The recording has started." : "The recording has ended.");
    if (status.is_failed) showError(`The recording ended: ${status.reason}.`);
    this.sources.load().catch(() => {});
  }
}

/** The counters that the view shows, tables included. */
function pathsOfView() {
  const ofTable = ({ set, columns }) => columns.flatMap(({ counter }) => (counter ? [`\\${set}(*)\\${counter}`] : []));
  return [...new Set([...state.paths, ...state.panels.flatMap(({ table }) => (table ? ofTable(table) : []))])];
}

function textOf(status, size) {
  if (!status.file) return "Records into a log on the server. The recording continues when this page is closed.";
  const what = status.is_all ? "all counters" : count(status.paths, "path");
  if (status.is_running) return `${status.file}: ${what}, ${count(status.samples, "sample")}, ${size}`;
  return `${status.file}: ${count(status.samples, "sample")}, ${size}. Ended: ${status.reason}.`;
}
