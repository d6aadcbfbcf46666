// Drawing annotations: flags above the plot, and in charts lines and shaded ranges across it.

import { textOf } from "./annotations.js";
import { faded } from "./palette.js";
import { colour } from "./theme.js";
import { visible } from "./element.js";

/** The longest text of a flag, in characters. */
const MAX_LABEL = 40;
/** Flags that would cover each other are on separate lines, up to this number; further ones have no text. */
const MAX_FLAG_LINES = 3;
const FLAG = 16;
/** The width of a character and of the margins of a flag, in pixels. */
const [CHARACTER, MARGINS] = [6.2, 8];
const FONT_SIZE = 11;

function labelOf(annotation) {
  const text = visible(textOf(annotation));
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
}

/**
 * Places the flags: `{annotation, label, from, to, start, width, line}` each; `line` is null without room. `across(moment)` is the x position of
 * a moment. Lengths are in pixels. Flags in small panels have the number of the note; its text is in the Notes menu and in the box at the pointer.
 */
export function flagsOf(annotations, across, left, width, isCompact = false) {
  const ends = [];
  return annotations.map((annotation) => {
    const from = Math.max(left - 2, across(annotation.begin));
    const to = annotation.end === null ? from : Math.min(left + width + 2, across(annotation.end));
    const label = isCompact ? String(annotation.number) : labelOf(annotation);
    const long = label.length * CHARACTER + MARGINS;
    // At the right end, the flag is left of its line.
    const start = Math.max(left, from + long > left + width ? from + 2 - long : from);
    let line = ends.findIndex((end) => end <= start);
    if (line < 0) line = ends.length;
    if (line >= (isCompact ? 1 : MAX_FLAG_LINES)) return { annotation, label, from, to, start, width: long, line: null };
    ends[line] = Math.max(start + long, to) + 2;
    return { annotation, label, from, to, start, width: long, line };
  });
}

/** The height of the flags above a plot, in pixels. */
export function flagsHeight(flags) {
  const lines = flags.filter(({ line }) => line !== null).map(({ line }) => line + 1);
  return lines.length ? Math.max(...lines) * FLAG + 2 : 0;
}

/** Draws flags above the plot, whose top is at `top`; a range has a bracket. `ratio` is the number of canvas pixels per CSS pixel. */
export function drawFlags(context, flags, top, ratio) {
  if (!flags.length) return;
  const ink = colour("mark");
  context.save();
  Object.assign(context, { font: `${FONT_SIZE * ratio}px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif`, textAlign: "left", textBaseline: "middle", fillStyle: ink });
  for (const { from, to, line } of flags) {
    // The bracket of a range, or the foot of a moment.
    context.fillRect(from * ratio, top - 2 * ratio, Math.max(2 * ratio, (to - from) * ratio), 2 * ratio);
    if (line > 0) context.fillRect(from * ratio, top - (line * FLAG + 2) * ratio, ratio, line * FLAG * ratio);
  }
  // The lines of further flags are below the texts.
  for (const { label, start, width, line } of flags) {
    if (line === null) continue;
    const foot = top - line * FLAG * ratio;
    context.fillStyle = ink;
    context.fillRect(start * ratio, foot - (FLAG + 1) * ratio, width * ratio, (FLAG - 1) * ratio);
    context.fillStyle = colour("mark-ink");
    context.fillText(label, (start + MARGINS / 2) * ratio, foot - (FLAG / 2 + 1) * ratio);
  }
  context.restore();
}

/** Draws lines at moments, and shaded ranges, across a plot. */
export function drawMarks(context, flags, { top, height }, ratio) {
  const ink = colour("mark");
  context.save();
  context.lineWidth = ratio;
  context.strokeStyle = ink;
  context.setLineDash([]);
  for (const { from, to } of flags) {
    context.fillStyle = faded(ink, 0.08);
    if (to > from) context.fillRect(from * ratio, top, (to - from) * ratio, height);
    context.beginPath();
    for (const at of to > from ? [from, to] : [from]) {
      context.moveTo(Math.round(at * ratio) + 0.5, top);
      context.lineTo(Math.round(at * ratio) + 0.5, top + height);
    }
    context.stroke();
  }
  context.restore();
}

/** Draws flags, and if `isAcross` lines and ranges across the plot, with a pen, for saved pictures. */
export function penAnnotations(pen, flags, { top, height }, isAcross) {
  const ink = colour("mark");
  for (const { from, to, line } of flags) {
    pen.box(from, top - 2, Math.max(2, to - from), 2, ink);
    if (line > 0) pen.box(from, top - line * FLAG - 2, 1, line * FLAG, ink);
    if (!isAcross) continue;
    if (to > from) pen.area([[from, top], [to, top], [to, top + height], [from, top + height]], ink, 0.08);
    pen.lines((to > from ? [from, to] : [from]).map((at) => [[at, top], [at, top + height]]), { colour: ink, width: 1 });
  }
  for (const { label, start, width, line } of flags) {
    if (line === null) continue;
    pen.box(start, top - (line + 1) * FLAG - 1, width, FLAG - 1, ink);
    pen.text(start + MARGINS / 2, top - line * FLAG - 5, label, { colour: colour("mark-ink"), size: FONT_SIZE });
  }
}
