// Saving: the selection as a log, the chart as a picture, the view as a link.

import * as api from "./api.js";
import { showError, showNotice } from "./messages.js";
import { drawPicture, pictureSize } from "./picture.js";
import { CanvasPen, SvgPen } from "./pens.js";
import { titleOf } from "./panels.js";
import { entry } from "./state.js";

/** The maximum length of the name of a picture, in characters. */
const MAX_NAME = 120;

/** Makes the browser save bytes under a name. */
export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Saves the visible counters and range, one file per source. `requestFor(source)` returns its range and how instances are grouped. */
export async function saveSelection(data, format, requestFor) {
  // Earlier values are another range of the same source.
  for (const block of data.blocks.filter(({ source }) => !source.of)) {
    const isHidden = (line) => entry(line.key).isHidden;
    const shown = block.lines.filter((line) => !isHidden(line));
    if (!shown.length) continue;
    const left = [...block.removed, ...block.lines.filter(isHidden)];
    const pathsOf = (lines) => lines.map((line) => line.path);
    const request = requestFor(block.source);
    const isSummed = request.group_by !== null;
    // A BLG contains raw values. Sums have none, so the instances are saved.
    if (format === "blg") request.group_by = null;
    const isOfInstances = isSummed && format === "blg";
    // The shortest equivalent selection, because URLs have a maximum length. The path of a sum would select only one of its instances.
    const selection = isOfInstances ? { paths: data.paths } : isSummed || left.length < shown.length ? { paths: data.paths, except: pathsOf(left) } : { paths: pathsOf(shown) };
    try {
      const { name, blob } = await api.exported(block.source.id, { ...selection, ...request, format });
      save(name, blob);
      showNotice(isOfInstances ? `Saved ${name}: a BLG has each instance, not sums.` : `Saved ${name}.`);
    } catch (problem) {
      showError(problem);
    }
  }
  if (!data.blocks.some((block) => block.lines.length)) showNotice("Nothing to save: the chart has no counters.");
}

/** Saves the chart of a panel as "png" or "svg". */
export async function savePicture(data, panel, lines, format) {
  const size = pictureSize(lines.filter((line) => !entry(line.key).isHidden));
  const pen = format === "svg" ? new SvgPen(size.width, size.height) : new CanvasPen(size.width, size.height, 2);
  drawPicture(pen, data, panel, lines, size);
  try {
    const stems = data.blocks.filter(({ source }) => !source.of).map(({ source }) => source.name.split("/").at(-1).replace(/\.\w+$/, ""));
    const stem = `${stems.join("+") || "chart"} - ${titleOf(panel)}`.replace(/[^\p{L}\p{N} .+_-]/gu, "_").slice(0, MAX_NAME);
    save(`${stem}.${format}`, await pen.blob("Performance counters"));
    showNotice(`Saved ${stem}.${format}.`);
  } catch (problem) {
    showError(problem);
  }
}

/** Copies the link to the view. */
export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    showNotice(isLocal ? "Link copied to the clipboard. It opens only on this machine, because its address is local." : "Link copied to the clipboard.");
  } catch {
    // Only allowed on secure pages.
    showNotice("The browser does not allow copying. Copy the link from the address bar.");
  }
}
