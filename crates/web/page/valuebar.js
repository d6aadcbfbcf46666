// The value bar: statistics of the selected counter over the visible range, and its duration.

import { byId, setText, setTitle } from "./element.js";
import { duration, figure, NONE } from "./figures.js";
import { nameOf } from "./hover.js";

/** Shows the statistics of `line` (or null) over `seconds`. */
export function drawValueBar(line, seconds) {
  const statistics = line?.statistics ?? {};
  setText(byId("value-last"), figure(statistics.last, line?.type));
  setText(byId("value-average"), figure(statistics.average, line?.type));
  setText(byId("value-minimum"), figure(statistics.minimum, line?.type));
  setText(byId("value-maximum"), figure(statistics.maximum, line?.type));
  setText(byId("value-duration"), duration(seconds));
  const unit = line?.unit ? ` in ${line.unit}` : "";
  setText(byId("value-name"), line ? `${nameOf(line)}${unit}` : NONE);
  setTitle(byId("value-name"), line?.path ?? "");
  byId("value-arithmetic").hidden = line?.average_kind !== "arithmetic";
}
