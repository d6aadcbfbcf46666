// Saving: the selection as a log, the chart as a picture, the view as a link.

import * as api from "./api.js";
import { showError, showNotice } from "./messages.js";
import { drawPicture, pictureSize } from "./picture.js";
import { CanvasPen, SvgPen } from "./pens.js";
import { entry } from "./state.js";

/** Makes the browser save bytes under a name. */
export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Saves the visible counters and range, one file per source. `boundsOf(source)` returns RFC 3339 strings. */
export async function saveSelection(data, format, boundsOf) {
  // Earlier values are another range of the same source.
  for (const block of data.blocks.filter(({ source }) => !source.of)) {
    const isHidden = (line) => entry(line.key).isHidden;
    const shown = block.lines.filter((line) => !isHidden(line));
    if (!shown.length) continue;
    const left = [...block.removed, ...block.lines.filter(isHidden)];
    const pathsOf = (lines) => lines.map((line) => line.path);
    // The shortest equivalent selection: URLs have a maximum length.
    const selection = left.length < shown.length ? { paths: data.paths, except: pathsOf(left) } : { paths: pathsOf(shown) };
    try {
      const { name, blob } = await api.exported(block.source.id, { ...selection, ...boundsOf(block.source), format });
      save(name, blob);
      showNotice(`Saved ${name}.`);
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
    const stem = data.blocks[0]?.source.name.split("/").at(-1).replace(/\.\w+$/, "") || "chart";
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
    showNotice("Link copied to the clipboard.");
  } catch {
    // Only allowed on secure pages.
    showNotice("The browser does not allow copying. Copy the link from the address bar.");
  }
}
