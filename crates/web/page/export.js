// Saving: the selection as a log, the chart as a picture, the view as a link.

import * as api from "./api.js";
import { showError, showNotice } from "./messages.js";
import { drawPicture, pictureSize } from "./picture.js";
import { CanvasPen, MovedPen, SvgPen } from "./pens.js";
import { titleOf } from "./panels.js";
import { entry } from "./state.js";
import { colour } from "./theme.js";

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

const sizeOf = ({ lines }) => pictureSize(lines.filter((line) => !entry(line.key).isHidden));

/** The largest height or width of a picture of two pixels per unit. */
const MAX_SHARP = 16_000;
const penFor = (format, width, height) => (format === "svg" ? new SvgPen(width, height) : new CanvasPen(width, height, Math.max(width, height) * 2 > MAX_SHARP ? 1 : 2));

/** Saves the chart of a panel as "png" or "svg". */
export async function savePicture(part, format) {
  const size = sizeOf(part);
  const pen = penFor(format, size.width, size.height);
  drawPicture(pen, part.data, part.panel, part.lines, size);
  await savePen(pen, part.data, titleOf(part.panel), format);
}

/** Saves the charts of all panels as one picture, in one column or, from three on, in two. */
export async function saveViewPicture(parts, title, format) {
  if (!parts.length) return showNotice("Nothing to save: no panel has a chart with values.");
  const across = parts.length > 2 ? 2 : 1;
  const sizes = parts.map(sizeOf);
  const rows = [];
  for (let at = 0; at < parts.length; at += across) rows.push(Math.max(...sizes.slice(at, at + across).map(({ height }) => height)));
  const { width } = sizes[0];
  const pen = penFor(format, width * across, rows.reduce((sum, height) => sum + height, 0));
  let top = 0;
  rows.forEach((height, row) => {
    // A row without a second panel has an empty area of the same colour.
    for (let column = 0; column < across; column += 1) {
      const part = parts[row * across + column];
      const moved = new MovedPen(pen, column * width, top);
      if (part) drawPicture(moved, part.data, part.panel, part.lines, { width, height });
      else moved.box(0, 0, width, height, colour("surface"));
    }
    top += height;
  });
  return savePen(pen, parts[0].data, title, format);
}

/** Saves what a pen has drawn, under the names of the sources and a title. */
async function savePen(pen, data, title, format) {
  try {
    const stems = data.blocks.filter(({ source }) => !source.of).map(({ source }) => source.name.split("/").at(-1).replace(/\.\w+$/, ""));
    const stem = `${stems.join("+") || "chart"} - ${title}`.replace(/[^\p{L}\p{N} .+_-]/gu, "_").slice(0, MAX_NAME);
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
