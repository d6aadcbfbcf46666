// The sources: this machine and logs. Opening, uploading, overlaying, closing; their problems.

import * as api from "./api.js";
import { byId, element, setText, setTitle } from "./element.js";
import { count, fileSize } from "./figures.js";
import { announce, showError } from "./messages.js";
import { change, state } from "./state.js";
import { moment, seconds, zoneOf } from "./time.js";
import { clearZoomHistory } from "./zoom.js";

const KNOWN = /\.(blg|csv|tsv)$/i;
const POLL_MS = 400;

/** The sources of the server, and the panel that lists them. */
export class Sources {
  constructor() {
    this.all = [];
    this.logs = [];
    /** The names of logs that are not open any more, by the ids of `addGone`. */
    this.goneNames = new Map();
    /** The names of all sources that were open, by id. */
    this.known = new Map();
    /** The id of the source whose closing must be confirmed. */
    this.closing = null;
    this.maxUpload = null;
    /** Whether the server requires a token. */
    this.needsToken = false;
    this.onChange = () => {};
    /** Called with the text and name of a view file. */
    this.onView = () => {};
    /** Fulfilled when the page shows its first view. Logs that are dropped earlier wait for it, because it would replace them. */
    this.firstViewShown = new Promise((resolve) => (this.reportFirstView = resolve));
    byId("open-file").addEventListener("click", () => byId("file-field").click());
    byId("file-field").addEventListener("change", (event) => {
      this.uploadAll([...event.target.files]);
      event.target.value = "";
    });
    this.watchDrops();
  }

  /** Loads the sources and logs of the server. */
  async load() {
    const response = await api.sources();
    this.all = response.sources;
    this.logs = response.logs ?? [];
    this.maxUpload = response.max_upload_bytes ?? null;
    this.needsToken = response.needs_token === true;
    this.draw();
    for (const source of this.all) if (source.state === "reading") this.follow(source.id);
  }

  byId(id) {
    return this.all.find((source) => source.id === id) ?? null;
  }

  /** Adds a log that the server does not have open; returns its id, which no source of the server has. */
  addGone(name) {
    const id = `gone:${encodeURIComponent(name).replaceAll("~", "%7E")}`;
    this.goneNames.set(id, name);
    return id;
  }

  isGone(id) {
    return this.goneNames.has(id);
  }

  /** The names of the chosen logs that the server does not have open. */
  gone() {
    return state.sources.filter((id) => this.isGone(id)).map((id) => this.goneNames.get(id));
  }

  nameOf(id) {
    return this.byId(id)?.name ?? this.goneNames.get(id) ?? this.known.get(id) ?? "";
  }

  /** Opens the logs again that are not open any more: from the folders of the server, or by a dialog. */
  async openAgain() {
    const names = this.gone();
    await this.load();
    const logs = names.map((name) => this.logs.find((log) => log.name === name || log.name.split("/").at(-1) === name));
    if (!logs.every(Boolean)) return byId("file-field").click();
    let isOverlaid = false;
    for (const log of logs) {
      await this.open(log.name, isOverlaid);
      isOverlaid = true;
    }
    return undefined;
  }

  /** Calls `onClosed` if the server has closed one of the shown logs. */
  async checkOpen(onClosed) {
    try {
      const { sources } = await api.sources();
      if (this.shown().some(({ id }) => !sources.some((source) => source.id === id))) onClosed();
    } catch {
      // Shown by the line at the top.
    }
  }

  ready() {
    return this.all.filter((source) => source.state === "ready");
  }

  /** The sources on the chart, in order. */
  shown() {
    return state.sources.map((id) => this.byId(id)).filter((source) => source?.state === "ready");
  }

  replace(source) {
    const at = this.all.findIndex((known) => known.id === source.id);
    if (at < 0) this.all.push(source);
    else this.all[at] = source;
    this.draw();
  }

  /** Waits until a log is read, with a progress bar; returns the source, or null if it failed or was closed. */
  async follow(id) {
    for (;;) {
      let source;
      try {
        source = await api.source(id);
      } catch (problem) {
        if (problem.status === 404) this.all = this.all.filter((known) => known.id !== id);
        else showError(problem);
        this.draw();
        return null;
      }
      this.replace(source);
      if (source.state !== "reading") {
        if (source.state === "failed") showError(source.error ?? `${source.name} could not be read.`);
        else if (state.sources.includes(id)) change({ sources: state.sources });
        return source.state === "ready" ? source : null;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Shows only this source. */
  showOnly(id) {
    // A log that is opened again continues at the same time range.
    const isAgain = this.gone().includes(this.byId(id)?.name);
    if (!isAgain) clearZoomHistory();
    change({ sources: [id], range: isAgain ? state.range : null, frozen: null });
  }

  /** Adds a source to the chart or removes it. The source that begins first is the first one, with which others are compared. */
  overlay(id, isShown) {
    const rest = state.sources.filter((other) => other !== id && !this.isGone(other));
    const begin = seconds(this.byId(id)?.begin) ?? Infinity;
    const at = rest.findLastIndex((other) => (seconds(this.byId(other)?.begin) ?? 0) <= begin) + 1;
    clearZoomHistory();
    change({ sources: isShown ? [...rest.slice(0, at), id, ...rest.slice(at)] : rest, range: null });
  }

  async show(opening, isOverlaid = false) {
    this.replace(opening);
    const source = opening.state === "ready" ? opening : await this.follow(opening.id);
    if (!source) {
      if (opening.state === "failed") showError(opening.error ?? `${opening.name} could not be read.`);
      return;
    }
    if (isOverlaid) this.overlay(source.id, true);
    else this.showOnly(source.id);
    announce(`${source.name} is open.`);
  }

  async open(log, isOverlaid = false) {
    try {
      await this.show(await api.openLog(log), isOverlaid);
    } catch (problem) {
      showError(problem);
    }
  }

  /** Removes a source from this page; the server keeps it. */
  leave(id) {
    this.closing = null;
    this.overlay(id, false);
  }

  /** Closes a source for all pages. */
  async close(id) {
    this.closing = null;
    try {
      await api.closeSource(id);
    } catch (problem) {
      if (problem.status !== 404) return showError(problem);
    }
    this.all = this.all.filter((source) => source.id !== id);
    this.draw();
    if (state.sources.includes(id)) this.leave(id);
  }

  /** Uploads logs in sequence; several are overlaid. */
  async uploadAll(files) {
    await this.firstViewShown;
    let isFirst = true;
    for (const file of files) {
      if (/\.toml$/i.test(file.name)) {
        this.onView(await file.text(), file.name);
        continue;
      }
      if (!KNOWN.test(file.name)) {
        showError(`${file.name} is not a log: the extension must be .blg, .csv or .tsv, or .toml for a view.`);
        continue;
      }
      if (this.maxUpload !== null && file.size > this.maxUpload) {
        showError(`${file.name} is too large (${fileSize(file.size)}); the maximum is ${fileSize(this.maxUpload)}.`);
        continue;
      }
      if (await this.upload(file, !isFirst)) isFirst = false;
    }
  }

  async upload(file, isOverlaid) {
    const bar = element("progress", { max: 1, value: 0, "aria-label": `Upload of ${file.name}` });
    const share = element("span", { class: "number" }, "0 %");
    const stop = element("button", { type: "button" }, "Stop");
    const row = element("div", { class: "upload" }, element("span", { class: "upload-name" }, file.name), bar, share, stop);
    byId("uploads").append(row);
    const sending = api.upload(file, (done) => {
      bar.value = done;
      setText(share, `${Math.round(done * 100)} %`);
    });
    stop.addEventListener("click", sending.abort);
    try {
      const source = await sending.promise;
      row.remove();
      await this.show(source, isOverlaid);
      return true;
    } catch (problem) {
      row.remove();
      if (problem.name === "AbortError") announce(problem.message);
      else showError(`${file.name}: ${problem.message}`);
      return false;
    }
  }

  watchDrops() {
    const veil = byId("drop-veil");
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    let depth = 0;
    const show = (by) => {
      depth = Math.max(0, depth + by);
      veil.hidden = depth === 0;
    };
    addEventListener("dragenter", (event) => hasFiles(event) && show(1));
    addEventListener("dragleave", (event) => hasFiles(event) && show(-1));
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      veil.hidden = true;
      this.uploadAll([...event.dataTransfer.files]);
    });
  }

  draw() {
    const list = byId("source-list");
    const focused = document.activeElement?.dataset?.focus;
    list.replaceChildren(...this.all.map((source) => this.row(source)));
    const open = new Set(this.all.map((source) => source.name));
    const rest = this.logs.filter((log) => !open.has(log.name) && !open.has(log.name.split("/").at(-1)));
    byId("log-section").hidden = rest.length === 0;
    byId("log-list").replaceChildren(
      ...rest.map((log) =>
        element("li", {}, element("button", { type: "button", class: "log", "data-closes": true, onclick: () => this.open(log.name) }, element("span", { class: "log-name" }, log.name), element("span", { class: "soft number" }, fileSize(log.bytes)))),
      ),
    );
    if (focused) list.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
    const problems = this.all.filter((source) => state.sources.includes(source.id)).flatMap((source) => source.problems);
    for (const { id, name } of this.all) this.known.set(id, name);
    const names = state.sources.map((id) => (this.isGone(id) ? `${this.nameOf(id)} (not open)` : this.byId(id)?.name)).filter(Boolean);
    setText(byId("source-names"), names.length ? names.join(" + ") : "No source");
    setText(byId("source-problems"), problems.length ? count(problems.length, "problem") : "");
    setTitle(byId("source-problems"), problems.slice(0, 5).join("\n"));
    byId("source-problems").hidden = !problems.length;
    this.onChange();
  }

  /** Asks whether a source is closed for everybody. A log that could not be read is closed without a question. */
  askToClose(id) {
    if (this.byId(id)?.state === "failed") return this.close(id);
    this.closing = this.closing === id ? null : id;
    this.draw();
    return byId("source-list").querySelector(".question button")?.focus();
  }

  question({ id, name }, isShown) {
    const button = (text, act) => element("button", { type: "button", "data-focus": `${text} ${id}`, onclick: act }, text);
    return element(
      "div",
      { class: "question", role: "group", "aria-label": `Close ${name}` },
      element("p", { class: "hint" }, "Other pages can show this log. Closing it on the server closes it for them, too."),
      element("div", { class: "button-row" }, isShown ? button("Remove from this page", () => this.leave(id)) : null, button("Close for everybody", () => this.close(id)), button("Cancel", () => this.askToClose(id))),
    );
  }

  row(source) {
    const isShown = state.sources.includes(source.id);
    const isReady = source.state === "ready";
    const name = source.kind === "live" ? `${source.name} (live)` : source.name;
    const box = element("input", { type: "checkbox", "data-focus": `box ${source.id}`, disabled: !isReady, "aria-label": `Overlay ${name}`, title: "Overlay on the chart", onchange: (event) => this.overlay(source.id, event.target.checked) });
    box.checked = isShown;
    const only = element("button", { type: "button", class: "source-name", "data-focus": `only ${source.id}`, disabled: !isReady, title: "Show only this source", "data-closes": true, onclick: () => this.showOnly(source.id) }, name);
    const close = source.is_closable ? element("button", { type: "button", class: "plain", "aria-label": `Close ${name}`, onclick: () => this.askToClose(source.id) }, "×") : null;
    const reading = source.state === "reading" ? element("progress", { max: 1, value: source.progress ?? 0, "aria-label": `Reading ${name}` }) : null;
    const problems = source.problems.length
      ? element("details", { class: "problems" }, element("summary", {}, count(source.problems.length, "problem")), element("ul", {}, source.problems.map((problem) => element("li", {}, problem))))
      : null;
    const ask = this.closing === source.id ? this.question(source, isShown) : null;
    return element("li", { class: isShown ? "source shown" : "source" }, box, only, close, reading, element("div", { class: "soft source-facts" }, factsOf(source)), ask, problems);
  }
}

function factsOf(source) {
  if (source.state === "failed") return source.error ?? "could not be read";
  if (source.state === "reading") return "reading…";
  const zone = zoneOf("log", source);
  const facts = [];
  if (source.kind === "log" && source.begin) facts.push(`${moment(seconds(source.begin), zone).slice(0, 19)} – ${moment(seconds(source.end), zone).slice(11, 19)}`);
  if (source.samples !== null && source.samples !== undefined) facts.push(count(source.samples, "sample"));
  if (source.interval) facts.push(`every ${Number(source.interval.toPrecision(3))} s`);
  if (source.machines?.length > 1) facts.push(count(source.machines.length, "machine"));
  if (source.is_formatted) facts.push("formatted values: averages are arithmetic");
  return facts.join(", ");
}
