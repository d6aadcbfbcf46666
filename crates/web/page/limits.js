// The limits and shaded ranges of a panel: their colours and names.

import { colour } from "./theme.js";
import { axisTexts } from "./units.js";

const FONT = 'system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';
const SIZE = 11;

/** The colour of a limit: the highest of several is a danger, the others are warnings. */
export const limitColour = (limits, limit) => colour(limit >= Math.max(...limits) ? "danger" : "warning");

/** The names of limits and ranges on an axis: `{text, at, colour}` each, at the upper end of a range. */
export function namesOf({ limits, bands, namedBands, format }) {
  const text = (values) => (format ? axisTexts(values, format) : values.map(String));
  const named = limits.map((limit) => ({ text: `limit ${text([limit])[0]}`, at: limit, colour: limitColour(limits, limit), isLimit: true }));
  return [...named, ...bands.flatMap(([low, high], index) => (high > low ? [{ text: text(namedBands[index]).join(" to "), at: high, colour: colour("warning"), isLimit: false }] : []))];
}

/** Draws the names at the right of a plot, above their lines if there is room. */
export function drawBandNames(context, axis, down, { left, top, width }, ratio) {
  const names = namesOf(axis);
  if (!names.length) return;
  context.save();
  Object.assign(context, { font: `600 ${SIZE * ratio}px ${FONT}`, textAlign: "right", textBaseline: "alphabetic", lineWidth: 3 * ratio, strokeStyle: colour("surface"), lineJoin: "round" });
  context.setLineDash([]);
  for (const { text, at, colour: ink, isLimit } of names) {
    const line = down(at);
    const isAbove = isLimit && line - (SIZE + 6) * ratio > top;
    const y = isAbove ? line - 4 * ratio : line + (SIZE + 3) * ratio;
    context.strokeText(text, left + width - 4 * ratio, y);
    context.fillStyle = ink;
    context.fillText(text, left + width - 4 * ratio, y);
  }
  context.restore();
}
