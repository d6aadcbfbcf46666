// Connects charts with the pointer: selections, clicks, and one crosshair for all charts.

import { annotate } from "./annotation-menu.js";
import { change } from "./state.js";
import { watchPointer } from "./zoom.js";

/** Whether crosshairs are being moved to follow that of another chart. */
let isFollowing = false;

/** Connects a chart with the pointer. */
export function watchChart(page, watched) {
  const { hover, grid } = page;
  watched.hooks.ready = (plot) => {
    // uPlot remembers where the plot was; a legend that grows above it moves it without an event. A heat map remembers nothing.
    plot.over.addEventListener("mousemove", () => plot.syncRect?.(true), true);
    watchPointer(plot, {
      view: () => ({ begin: page.data.begin, end: page.data.end }),
      whole: () => page.loader.whole() ?? page.data,
      onChoose: page.choose,
      onMark: (range) => annotate(page, range),
      onDragging: (now) => (page.isDragging = now),
      onHold: (left, top) => {
        hover.release();
        plot.setCursor({ left, top });
        if (hover.show(watched, plot.posToVal(left, "x"), left, top)) hover.pin();
      },
      onClick: (left) => {
        page.marked = { begin: plot.posToVal(left, "x"), end: null, source: hover.nearest?.source };
        if (hover.nearest) change({ selected: hover.nearest.key });
      },
    });
  };
  watched.hooks.cursor = (plot) => {
    // A new drawing repeats the crosshair that followed that of another chart.
    if (plot.over.matches(":hover")) watched.isFollower = false;
    if (isFollowing || watched.isFollower) return;
    hover.follow(watched);
    // The other charts show the same moment.
    const { left } = plot.cursor;
    const at = left >= 0 ? plot.posToVal(left, "x") : null;
    isFollowing = true;
    for (const other of grid.charts()) {
      if (other === watched) continue;
      other.isFollower = true;
      other.plot.setCursor({ left: at === null ? -10 : other.plot.valToPos(at, "x"), top: at === null ? -10 : 0 });
    }
    isFollowing = false;
  };
}
