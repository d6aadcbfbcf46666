// Opens what a link describes, or what the page shows without a link; changes what does not fit the sources: it opens the start view,
// aligns logs, and drops sources that are gone.

import { closedText } from "./empty.js";
import { fromFragment } from "./link.js";
import { announce, showError, showNotice } from "./messages.js";
import { change, state } from "./state.js";
import { seconds } from "./time.js";

/** Opens the state that a link or, if `isSaved`, a saved view describes. */
export function openLink(page, text, isSaved = false) {
  const { sources, views } = page;
  const idOf = (id, name) => {
    const all = sources.all;
    const found = all.find((source) => source.id === id && (!name || source.name === name)) ?? all.find((source) => source.name === name);
    // A link to the machine of another server shows this machine.
    return found?.id ?? (id === "live" && all.some((source) => source.id === id) ? id : null);
  };
  const { parts, panels, viewName, missing, problems } = fromFragment(text, idOf);
  if (problems.length) showError(`Parts of the link are ignored: ${problems.slice(0, 5).join("; ")}${problems.length > 5 ? `; and ${problems.length - 5} more` : ""}.`);
  if (missing.length && parts.sources.length) showError(closedText(missing));
  // Another source must not be shown in the place of a log, but saved views are also used for other logs.
  if (!parts.sources.length && isSaved && sources.shown().length) parts.sources = state.sources;
  if (!parts.sources.length) parts.sources = missing.length ? missing.map((name) => sources.addGone(name)) : firstSources(sources);
  // A range of live data means that it is frozen.
  const isLive = parts.sources.some((id) => sources.byId(id)?.kind === "live");
  const frozen = isLive && parts.range ? closed(parts.range) : null;
  if (panels) {
    views.cancel();
    return change({ ...parts, panels, frozen, viewName: null });
  }
  // The panels come from the server; the rest of the link applies to them.
  const { legend: settings, removed, open, selected, savedName, isChanged } = parts;
  const after = { open, selected, removed, legend: settings, savedName, isChanged };
  if (text.includes("points=")) after.points = parts.points;
  change({ ...parts, panels: [], frozen, viewName: viewName ?? "start" });
  return views.open(viewName ?? "start", after);
}

/** Replaces a missing begin or end of a range of live values. */
function closed({ begin, end }) {
  const to = end ?? Math.max(Date.now() / 1000, begin + 1);
  return { begin: begin ?? to - 60, end: to };
}

/**
 * The sources that are shown first: two logs of the command line, which are compared; of more logs the first one, because their lines would be hard
 * to distinguish; without logs this machine.
 */
export function firstSources(sources) {
  const logs = sources.all.filter((source) => source.kind === "log" && source.state !== "failed" && !source.is_closable);
  const first = logs.length ? logs : sources.all.filter((source) => source.state !== "failed").slice(0, 1);
  if (first.length > 2) showNotice(`${first.length} logs are open: the menu at the top shows the others.`);
  return first.slice(0, first.length > 2 ? 1 : 2).map((source) => source.id);
}

/** Whether none of the counters that the user chose is in the sources. */
const isUseless = (data) => !data.lines.length && state.paths.length > 0 && data.missing.length >= state.paths.length && !state.range && !state.frozen && !state.viewName;

/** The changes that users did not choose. They are no steps of the browser's history. */
export class Fallback {
  /** `reload()` loads all data again. */
  constructor({ sources, loader, views, address, reload }) {
    Object.assign(this, { sources, loader, views, address, reload });
    /** The ids of the sources for which the start view was opened, and of those that were aligned last, so that each happens once. */
    this.openedFor = "";
    this.alignedFor = "";
  }

  /** If the sources have none of the counters, opens the start view, at most once for each list of sources. Returns whether it does. */
  openStartView() {
    const ids = this.shownIds();
    if (!ids || this.openedFor === ids || !isUseless(this.loader.data())) return false;
    this.openedFor = ids;
    this.address.replaceNext();
    this.views.open("start");
    return true;
  }

  /** After a change of sources: the start view can be opened again. Returns whether the new logs are aligned. */
  sourcesChanged() {
    this.openedFor = "";
    return this.alignLogs();
  }

  /** Aligns logs that do not overlap in time at their starts, but only once for the same sources. Returns whether it has aligned them. */
  alignLogs() {
    const shown = this.sources.shown();
    const ids = this.shownIds();
    if (shown.length < 2 || shown.length < state.sources.length || this.alignedFor === ids) return false;
    this.alignedFor = ids;
    const spans = shown.filter(({ kind, begin }) => kind === "log" && begin).map(({ begin, end }) => [seconds(begin), seconds(end)]);
    const overlap = spans.some(([begin, end], index) => spans.some(([from, to], other) => other !== index && from < end && begin < to));
    if (state.align !== "absolute" || state.isAlignChosen || spans.length < shown.length || overlap || state.range) return false;
    announce("The logs do not overlap in time: they are aligned at their starts.");
    this.address.replaceNext();
    change({ align: "start", sources: state.sources });
    return true;
  }

  /** Reloads the sources after an outage, or when a source has disappeared. */
  async refresh() {
    const { sources } = this;
    try {
      await sources.load();
      const gone = state.sources.filter((id) => !sources.byId(id) && !sources.isGone(id));
      if (!gone.length) return this.reload();
      const names = gone.map((id) => sources.nameOf(id));
      showError(closedText(names));
      const rest = state.sources.filter((id) => sources.byId(id));
      this.address.replaceNext();
      return change(rest.length ? { sources: rest, range: null, frozen: null } : { sources: names.map((name) => sources.addGone(name)) });
    } catch {
      // Shown by the line at the top.
      return undefined;
    }
  }

  shownIds() {
    return this.sources.shown().map(({ id }) => id).join(" ");
  }
}
