// The texts that the page shows in place of a chart or a table: why there is nothing, what is missing.

import { whyNoLines } from "./panel-data.js";
import { state } from "./state.js";
import { moment } from "./time.js";

const MAX_MISSING = 3;

/** Why a panel shows nothing. */
export function whyEmpty(page, data, panel) {
  const { sources, loader } = page;
  const gone = sources.gone();
  if (gone.length) return `${closedText(gone)} Open it again, or choose another source at the top.`;
  const isReading = sources.all.some((source) => source.state === "reading" && state.sources.includes(source.id));
  if (isReading) return "Reading the log…";
  if (page.problemText) return page.problemText;
  if (!state.sources.length) return "Open a log, or choose a source at the top.";
  if (panel && !panel.counters.length) return "The panel has no counters. Press A to add some.";
  if (!panel) return page.views.wanted ? "…" : "The chart has no counters. Press A to add some.";
  if (data.missing.length >= panel.counters.length && data.blocks.length) return missingText(data.missing);
  if (loader.isRunning() && !data.blocks.some(({ times }) => times.length > 1)) return "Collecting the first values…";
  if (data.isEmpty) return `There are no samples in this time range. ${wholeText(loader.whole(), data.zone)}`.trim();
  return whyNoLines(panel, data, loader.isRunning());
}

/** The message about logs that the server has closed. */
export const closedText = (names) => `No longer open on the server: ${names.join(", ")}.`;

/** The time range of the sources, as a sentence. */
function wholeText(whole, zone) {
  return whole && zone ? `The data is from ${moment(whole.begin, zone)} to ${moment(whole.end, zone)}.` : "";
}

/** Several paths that are missing, as a text of bounded length. */
export function missingText(missing) {
  const texts = missing.slice(0, MAX_MISSING).map(({ path, reason }) => `${path}: ${reason}`);
  return texts.join("; ") + (missing.length > MAX_MISSING ? `; and ${missing.length - MAX_MISSING} more` : "");
}
