// Selecting a time range: dragging with mouse, pen or finger, pinching, the wheel with Ctrl, and keys. Keeps a history.

import { element } from "./element.js";
import { change, state } from "./state.js";

const back = [];
const forward = [];
/** The length of the shortest range. */
const SHORTEST_MS = 2;
/** A press of this length is a long one, in milliseconds. */
const HOLD_MS = 600;

/** Zooms to a range, null for the whole, and adds the previous one to the history. */
export function zoomTo(range) {
  if (same(range, state.range)) return;
  back.push(state.range);
  if (back.length > 100) back.shift();
  forward.length = 0;
  change({ range });
}

const same = (one, other) => one === other || (one && other && one.begin === other.begin && one.end === other.end);

/** Goes back in the history. */
export function zoomBack() {
  if (!back.length) return;
  forward.push(state.range);
  change({ range: back.pop() });
}

/** Goes forward in the history. */
export function zoomForward() {
  if (!forward.length) return;
  back.push(state.range);
  change({ range: forward.pop() });
}

export const canGoBack = () => back.length > 0;
export const canGoForward = () => forward.length > 0;

/** Clears the history, because other sources have other times. */
export function clearZoomHistory() {
  back.length = 0;
  forward.length = 0;
}

/** The history, for the browser's history. */
export const zoomHistory = () => ({ back: [...back], forward: [...forward] });

/** Replaces the history by one that `zoomHistory` returned, which is not trusted; null clears it. */
export function setZoomHistory(kept) {
  const isEnd = (end) => end === null || Number.isFinite(end);
  const isRange = (range) => range === null || (isEnd(range?.begin) && isEnd(range?.end));
  for (const [list, ranges] of [[back, kept?.back], [forward, kept?.forward]]) list.splice(0, list.length, ...(Array.isArray(ranges) ? ranges.filter(isRange) : []));
}

/** A range in whole milliseconds inside `whole`; null if it is all of `whole`. */
export function withinWhole(range, whole) {
  const all = inMilliseconds(whole);
  const requested = inMilliseconds(range);
  const length = Math.min(Math.max(requested.end - requested.begin, SHORTEST_MS), all.end - all.begin);
  if (length >= (all.end - all.begin) * 0.9999) return null;
  const begin = Math.round((range.begin + range.end) * 500 - length / 2);
  const from = Math.max(all.begin, Math.min(begin, all.end - length));
  return { begin: from / 1000, end: (from + length) / 1000 };
}

/** Rounds a range outward to whole milliseconds. */
function inMilliseconds({ begin, end }) {
  // The precision of doubles for seconds since 1970.
  const noise = 0.001;
  return { begin: Math.floor(begin * 1000 + noise), end: Math.ceil(end * 1000 - noise) };
}

/** A range `factor` times as long, around the position `at` (0 to 1) in it. */
export function zoomed({ begin, end }, factor, at = 0.5) {
  const held = begin + (end - begin) * at;
  return { begin: held - (held - begin) * factor, end: held + (end - held) * factor };
}

/** A range moved by a part of its length, in whole milliseconds. */
export function moved({ begin, end }, share) {
  const by = Math.round((end - begin) * share * 1000) / 1000;
  return { begin: begin + by, end: end + by };
}

/**
 * Handles pointers on the plot. `view()` is the visible range, `whole()` the whole one; `onClick(left, top)`: a click;
 * `onChoose(range)`: a selected range; `onMark(range)`: one that was selected with Shift; `onDragging(isHeld)`: the chart must not move during a drag;
 * `onHold(left, top)`: a long press.
 */
export function watchPointer(plot, { view, whole, onChoose, onMark, onClick, onDragging, onHold }) {
  const surface = plot.over;
  const pointers = new Map();
  let from = null;
  let pinch = null;
  /** The timer of a press that can become a long one; `isHeld` once it is. */
  let holding = null;
  let isHeld = false;
  const leftOf = (event) => Math.max(0, Math.min(surface.clientWidth, event.clientX - surface.getBoundingClientRect().left));
  const topOf = (event) => event.clientY - surface.getBoundingClientRect().top;
  // A long press must not open the browser's menu.
  surface.addEventListener("contextmenu", (event) => (isHeld || pointers.size) && event.preventDefault());
  // A separate element, because uPlot resets its own selection whenever the mouse moves.
  const selection = element("div", { class: "selection", hidden: true });
  surface.append(selection);
  const select = (one, other) => {
    Object.assign(selection.style, { left: `${Math.min(one, other)}px`, width: `${Math.abs(other - one)}px` });
    selection.hidden = false;
  };
  const clear = () => (selection.hidden = true);
  const choose = (begin, end) => onChoose(withinWhole({ begin, end }, whole()));

  surface.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    pointers.set(event.pointerId, leftOf(event));
    onDragging(true);
    // The drag continues outside the plot.
    try {
      surface.setPointerCapture(event.pointerId);
    } catch {
      // The pointer was released before the event was handled.
    }
    clearTimeout(holding);
    isHeld = false;
    if (pointers.size === 1) {
      from = leftOf(event);
      const [left, top] = [from, topOf(event)];
      holding = setTimeout(() => {
        isHeld = true;
        onHold(left, top);
      }, HOLD_MS);
    } else if (pointers.size === 2) {
      from = null;
      clear();
      pinch = { lefts: [...pointers.values()], view: view() };
    }
  });
  surface.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, leftOf(event));
    if (from !== null && pointers.size === 1) {
      if (Math.abs(leftOf(event) - from) > 4) {
        clearTimeout(holding);
        select(from, leftOf(event));
      }
    }
  });
  const release = (event) => {
    if (!pointers.has(event.pointerId)) return;
    const left = leftOf(event);
    clearTimeout(holding);
    pointers.set(event.pointerId, left);
    if (pinch && pointers.size === 2) {
      // The times under both fingers stay there.
      const width = surface.clientWidth;
      const { begin, end } = pinch.view;
      const at = pinch.lefts.map((x) => begin + ((end - begin) * x) / width);
      const [one, other] = [...pointers.values()];
      const perPixel = Math.abs(other - one) > 8 ? (at[1] - at[0]) / (other - one) : NaN;
      if (perPixel > 0) choose(at[0] - one * perPixel, at[0] + (width - one) * perPixel);
    } else if (from !== null && event.type === "pointerup") {
      if (Math.abs(left - from) > 4) {
        const [one, other] = [Math.min(from, left), Math.max(from, left)];
        const [begin, end] = [plot.posToVal(one, "x"), plot.posToVal(other, "x")];
        if (event.shiftKey) onMark({ begin, end });
        else choose(begin, end);
      } else if (!isHeld) {
        onClick(left, topOf(event));
      }
    }
    pointers.delete(event.pointerId);
    onDragging(pointers.size > 0);
    from = null;
    pinch = null;
    clear();
  };
  surface.addEventListener("pointerup", release);
  surface.addEventListener("pointercancel", release);
  surface.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      onChoose(withinWhole(zoomed(view(), event.deltaY < 0 ? 0.8 : 1.25, leftOf(event) / surface.clientWidth), whole()));
    },
    { passive: false },
  );
}
