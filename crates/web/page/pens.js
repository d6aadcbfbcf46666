// Drawing pictures: one pen writes SVG, the other draws on a canvas. Both draw lines, areas, boxes and text.

import { visible } from "./element.js";

const FONT = "system-ui, Segoe UI, Roboto, Cantarell, sans-serif";

const escaped = (text) =>
  visible(text)
    // Characters that XML does not allow.
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .toWellFormed()
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const short = (number) => String(Math.round(number * 100) / 100);

/** Writes SVG. */
export class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], clips: 0 });
  }

  box(x, y, width, height, fill) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"/>`);
  }

  /** Draws polylines. */
  lines(polylines, { colour, width, dash = [] }) {
    const path = polylines.map((points) => `M${points.map(([x, y]) => `${short(x)} ${short(y)}`).join("L")}`).join("");
    if (!path) return;
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round" stroke-linecap="${dash.length ? "butt" : "round"}"${dashes}/>`);
  }

  area(points, colour, opacity) {
    this.parts.push(`<path d="M${points.map(([x, y]) => `${short(x)} ${short(y)}`).join("L")}Z" fill="${colour}" fill-opacity="${short(opacity)}"/>`);
  }

  text(x, y, text, { colour, size = 12, align = "start", weight = 400 }) {
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${colour}" font-size="${size}" font-weight="${weight}" text-anchor="${align}">${escaped(text)}</text>`);
  }

  /** Clips the drawing of `draw` to a box. */
  within(x, y, width, height, draw) {
    const id = `inside${(this.clips += 1)}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The finished file. */
  blob(title) {
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${FONT}"><title>${escaped(title)}</title>`;
    return Promise.resolve(new Blob([`<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${this.parts.join("\n")}\n</svg>\n`], { type: "image/svg+xml" }));
  }
}

/** Draws on a canvas with `ratio` pixels per unit. */
export class CanvasPen {
  constructor(width, height, ratio) {
    this.canvas = document.createElement("canvas");
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context = this.canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.lineJoin = "round";
  }

  box(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  trace(points) {
    points.forEach(([x, y], index) => (index ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
  }

  lines(polylines, { colour, width, dash = [] }) {
    const { context } = this;
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineCap: dash.length ? "butt" : "round" });
    context.setLineDash(dash);
    context.beginPath();
    for (const points of polylines) this.trace(points);
    context.stroke();
    context.setLineDash([]);
  }

  area(points, colour, opacity) {
    const { context } = this;
    context.globalAlpha = opacity;
    context.fillStyle = colour;
    context.beginPath();
    this.trace(points);
    context.fill();
    context.globalAlpha = 1;
  }

  text(x, y, text, { colour, size = 12, align = "start", weight = 400 }) {
    const { context } = this;
    Object.assign(context, { fillStyle: colour, font: `${weight} ${size}px ${FONT}`, textAlign: align === "middle" ? "center" : align });
    context.fillText(visible(text), x, y);
  }

  within(x, y, width, height, draw) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }

  blob() {
    return new Promise((resolve, reject) => this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not create the picture."))), "image/png"));
  }
}

/** Draws with another pen, moved to a place. */
export class MovedPen {
  constructor(pen, left, top) {
    this.pen = pen;
    this.moved = ([x, y]) => [x + left, y + top];
  }

  box(x, y, width, height, fill) {
    this.pen.box(...this.moved([x, y]), width, height, fill);
  }

  lines(polylines, style) {
    this.pen.lines(polylines.map((points) => points.map(this.moved)), style);
  }

  area(points, colour, opacity) {
    this.pen.area(points.map(this.moved), colour, opacity);
  }

  text(x, y, text, style) {
    this.pen.text(...this.moved([x, y]), text, style);
  }

  within(x, y, width, height, draw) {
    this.pen.within(...this.moved([x, y]), width, height, draw);
  }
}
