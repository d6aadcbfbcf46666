// Drawing annotations.

import { textOf } from "./annotations.js";
import { faded } from "./palette.js";
import { colour } from "./theme.js";
import { visible } from "./visible.js";

/** The longest text on a chart, in characters. */
const MAX_LABEL = 40;

function labelOf(annotation) {
  const text = visible(textOf(annotation));
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
}

/**
 * Draws annotations on a canvas: a line or a shaded range, with its text at the top. `across(at)` is the position of a moment, the
 * fourth parameter is the rectangle of the plot, and `ratio` is the number of canvas pixels per CSS pixel.
 */
export function drawAnnotations(context, annotations, across, { left, top, width, height }, ratio) {
  if (!annotations.length) return;
  const ink = colour("accent");
  context.save();
  Object.assign(context, { font: `${11 * ratio}px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif`, textAlign: "left", textBaseline: "top", lineWidth: ratio });
  const ends = [];
  for (const annotation of annotations) {
    const from = Math.max(left - 2, across(annotation.begin));
    const to = annotation.end === null ? from : Math.min(left + width + 2, across(annotation.end));
    context.fillStyle = faded(ink, 0.13);
    if (to > from) context.fillRect(from, top, to - from, height);
    context.strokeStyle = ink;
    context.setLineDash([2 * ratio, 2 * ratio]);
    context.beginPath();
    for (const at of annotation.end === null ? [from] : [from, to]) {
      context.moveTo(at, top);
      context.lineTo(at, top + height);
    }
    context.stroke();
    const label = labelOf(annotation);
    const wide = context.measureText(label).width + 8 * ratio;
    const start = Math.max(left, Math.min(from, left + width - wide));
    // Texts that would cover each other are on separate lines.
    let line = ends.findIndex((end) => end <= start);
    if (line < 0) line = ends.length;
    ends[line] = start + wide + 2 * ratio;
    if (line > 3) continue;
    const high = top + line * 16 * ratio;
    context.fillStyle = ink;
    context.fillRect(start, high, wide, 15 * ratio);
    context.fillStyle = colour("accent-ink");
    context.fillText(label, start + 4 * ratio, high + 2 * ratio);
  }
  context.restore();
}

/** Draws annotations with a pen, for saved pictures. */
export function penAnnotations(pen, annotations, across, { left, top, width, height }) {
  const ink = colour("accent");
  annotations.forEach((annotation, index) => {
    const from = across(annotation.begin);
    const to = annotation.end === null ? from : across(annotation.end);
    if (to > from) pen.area([[from, top], [to, top], [to, top + height], [from, top + height]], ink, 0.13);
    pen.lines((to > from ? [from, to] : [from]).map((at) => [[at, top], [at, top + height]]), { colour: ink, width: 1, dash: [2, 2] });
    const start = Math.max(left, from);
    pen.text(start + 4, top + 12 + 14 * (index % 4), labelOf(annotation), { colour: ink, size: 11, ...(start > left + width - 200 ? { align: "end" } : {}) });
  });
}
