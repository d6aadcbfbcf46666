// Annotations: texts of users about moments and time ranges. They are drawn in all panels, and saved with the view.

import { state } from "./state.js";

/** The limits of view files. */
const MAX_ANNOTATIONS = 1000;
const MAX_TEXT = 500;

/** The valid ones of untrusted annotations, in order of time: `{begin, end, text}`, times in seconds, `end` null for a moment. */
export function annotationsOf(given) {
  const read = (Array.isArray(given) ? given : []).slice(0, MAX_ANNOTATIONS).flatMap((one) => {
    const { begin, end = null, text } = one ?? {};
    if (!Number.isFinite(begin) || (end !== null && !(end > begin)) || typeof text !== "string") return [];
    return [{ begin, end, text: text.slice(0, MAX_TEXT) }];
  });
  return read.sort((one, other) => one.begin - other.begin);
}

/** A tolerance in seconds, because the start and end of a log are exact, but times of annotations are whole milliseconds. */
const PRECISION = 0.001;

const overlaps = (one, begin, end) => one.begin <= end && (one.end ?? one.begin) >= begin;

/** The sources whose time range overlaps an annotation. */
export const originsOf = (annotation, origins) => origins.filter(({ begin, end }) => overlaps(annotation, begin - PRECISION, end + PRECISION));

/**
 * Annotations on the time axis of loaded data. If sources are aligned at their starts, an annotation appears once for each source
 * whose time range overlaps it, and `of` is the name of the source. `number` is that of the Notes menu.
 */
export function annotationsOn({ origins }, annotations = [...state.annotations, ...(state.draft ?? [])]) {
  const numbered = annotations.map((one, index) => ({ number: index + 1, ...one }));
  if (!origins) return numbered;
  const placed = (one) => originsOf(one, origins).map(({ source, shift }) => ({ ...one, begin: one.begin - shift, end: one.end === null ? null : one.end - shift, of: source.name }));
  return numbered.flatMap(placed);
}

/** The annotations in the visible range. */
export const annotationsIn = (data) => annotationsOn(data).filter((one) => overlaps(one, data.begin, data.end));

/** The annotations at a time. An annotation of a moment matches if it is at most `near` seconds away. */
export const annotationsAt = (data, at, near) => annotationsOn(data).filter(({ begin, end }) => (end === null ? Math.abs(begin - at) <= near : begin <= at && at < end));

/** The text, with the name of its source if sources are aligned. */
export const textOf = ({ text, of }) => (of ? `${text} · ${of}` : text);
