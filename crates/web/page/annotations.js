// Annotations: texts of users about moments and time ranges. They are drawn in all panels, and saved with the view.

import { state } from "./state.js";

/** As in view files. */
const MAX_ANNOTATIONS = 1000;
const MAX_TEXT = 500;

/** Annotations that are not trusted: `{begin, end, text}`, times in seconds, `end` null for a moment; in order of time. */
export function annotationsOf(given) {
  const read = (Array.isArray(given) ? given : []).slice(0, MAX_ANNOTATIONS).flatMap((one) => {
    const { begin, end = null, text } = one ?? {};
    if (!Number.isFinite(begin) || (end !== null && !(end > begin)) || typeof text !== "string") return [];
    return [{ begin, end, text: text.slice(0, MAX_TEXT) }];
  });
  return read.sort((one, other) => one.begin - other.begin);
}

/** The annotations of a time range. */
export const annotationsIn = (begin, end) => state.annotations.filter((one) => one.begin <= end && (one.end ?? one.begin) >= begin);

/** Those at a moment; `near` is the distance at which a moment counts as hit. */
export const annotationsAt = (at, near) => state.annotations.filter(({ begin, end }) => (end === null ? Math.abs(begin - at) <= near : begin <= at && at < end));
