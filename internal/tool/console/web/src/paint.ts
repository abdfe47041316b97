// Draws the map's cells, layers and names on a canvas, independent of the chart library.
import { inFile } from "./api";
import { brightness, type Line, type Picture } from "./picture";
import { ground, paint } from "./scale";
import { colour } from "./theme";
import { lineLabel, sign } from "./words";

/** Area is the map's position on the canvas, in CSS pixels. */
export interface Area {
  left: number; // left edge of the cells; names are left of it
  width: number;
  height: number;
  ratio: number; // device pixels in a CSS pixel
  x(ms: number): number;
  top(line: number): number; // upper edge of a line, which is the lower edge of the one above
}

/** legible is the lowest height of a line with a name, in pixels. */
export const legible = 11;

/** cells draws a canvas with one pixel for each cell. */
export function cells(p: Picture): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, p.scale.columns);
  canvas.height = Math.max(1, p.lines.length);
  const c = canvas.getContext("2d")!;
  const image = c.createImageData(canvas.width, canvas.height);
  p.lines.forEach((line, y) => {
    for (let x = 0; x < p.scale.columns; x++) image.data.set([...paint(brightness(p, line, x)), 255], 4 * (y * canvas.width + x));
  });
  c.putImageData(image, 0, 0);
  return canvas;
}

/** draw draws the part of the picture in the area. */
export function draw(p: Picture, source: HTMLCanvasElement, area: Area): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round((area.left + area.width) * area.ratio));
  canvas.height = Math.max(1, Math.round(area.height * area.ratio));
  const c = canvas.getContext("2d")!;
  c.scale(area.ratio, area.ratio);
  names(c, p, area);
  c.beginPath();
  c.rect(area.left, 0, area.width, area.height);
  c.clip();
  c.fillStyle = `rgb(${ground.join()})`;
  c.fill();
  const seen = p.lines.map((line, i) => ({ line, i, top: area.top(i), bottom: area.top(i + 1) })).filter((l) => l.bottom > 0 && l.top < area.height);
  c.imageSmoothingEnabled = false;
  const round = (y: number) => Math.round(y * area.ratio) / area.ratio;
  for (const { i, top, bottom } of seen) {
    const gap = bottom - top >= legible ? 1 : 0;
    c.drawImage(source, 0, i, source.width, 1, area.x(p.scale.from), round(top), area.x(p.scale.to) - area.x(p.scale.from), Math.max(1 / area.ratio, round(bottom) - round(top) - gap));
  }
  unread(c, p, area);
  for (const { line, top, bottom } of seen) {
    if (p.look.layers.throttled && p.look.metric !== "throttled") throttled(c, p, line, area, top, bottom);
    if (p.look.layers.events) changes(c, line, area, top, bottom);
  }
  return canvas;
}

/** names draws the lines' names, signs and unfold arrows left of the cells. */
function names(c: CanvasRenderingContext2D, p: Picture, area: Area): void {
  c.textBaseline = "middle";
  p.lines.forEach((line, i) => {
    const [top, bottom] = [area.top(i), area.top(i + 1)];
    const y = (top + bottom) / 2;
    if (bottom - top < legible - 0.5 || y < 0 || y > area.height) return;
    const mark = sign(line.row);
    const state = mark.class.split(" ")[1];
    c.font = `10px ${colour("--font")}`;
    c.fillStyle = colour("--quiet");
    if (line.unfolds) c.fillText(line.open ? "▼" : "▶", 4, y + 0.5);
    c.fillStyle = colour(state ? `--${state}` : "--quiet");
    if (!line.parent) c.fillText(mark.text, 17, y);
    c.font = `11px ${colour("--mono")}`;
    c.fillStyle = colour(mark.text && !line.parent ? "--text" : "--quiet");
    const indent = line.parent ? 36 : 30;
    if (line.parent) c.fillText(mark.text, 24, y);
    c.fillText(fitted(c, line, area.left - indent - 6), indent, y);
  });
}

/** fitted returns a line's name, with its middle cut if it is wider than width. */
function fitted(c: CanvasRenderingContext2D, line: Line, width: number): string {
  let n = Math.floor(width / 6.6);
  while (n > 3 && c.measureText(lineLabel(line, n)).width > width) n--;
  return lineLabel(line, n);
}

/** unread hatches columns that were not fully read; in a file, which may be a sample, those that were not read at all. */
function unread(c: CanvasRenderingContext2D, p: Picture, area: Area): void {
  const kind = (i: number) => (i >= p.scale.columns || p.scale.covered(i) >= 1 || (inFile && p.scale.covered(i) > 0) ? "read" : p.scale.covered(i) > 0 ? "part" : "none");
  for (let first = 0, i = 0; i < p.scale.columns; i++) {
    if (kind(i + 1) === kind(i)) continue; // neighbours are hatched together
    if (kind(i) !== "read") hatch(c, area, Math.max(area.left, area.x(p.scale.start(first))), Math.min(area.left + area.width, area.x(p.scale.start(i + 1))), kind(i) === "none");
    first = i + 1;
  }
}

function hatch(c: CanvasRenderingContext2D, area: Area, left: number, right: number, whole: boolean): void {
  if (right <= left) return;
  c.save();
  c.beginPath();
  c.rect(left, 0, right - left, area.height);
  c.clip();
  c.fillStyle = "#565b66";
  if (whole) c.fill();
  c.globalAlpha = whole ? 0.9 : 0.35;
  c.strokeStyle = "#aab0bb";
  c.beginPath();
  for (let x = left - area.height - (left % 7); x < right; x += 7) {
    c.moveTo(x, area.height);
    c.lineTo(x + area.height, 0);
  }
  c.stroke();
  c.restore();
}

/** throttled underlines a line's cells with throttled writes. */
function throttled(c: CanvasRenderingContext2D, p: Picture, line: Line, area: Area, top: number, bottom: number): void {
  if (!line.throttled) return;
  const high = Math.max(1, Math.min(4, (bottom - top) / 3));
  const most = Math.max(...line.throttled.map((n) => n ?? 0));
  c.fillStyle = "#35e0ee";
  line.throttled.forEach((n, i) => {
    if (n === null || n <= 0) return;
    const x = area.x(p.scale.start(i));
    c.globalAlpha = 0.55 + 0.45 * Math.sqrt(n / most);
    c.fillRect(x, bottom - high - (bottom - top >= legible ? 1 : 0), Math.max(1, area.x(p.scale.start(i + 1)) - x), high);
  });
  c.globalAlpha = 1;
}

/** changes marks a line's shard-count changes. Changes that are close together share a label. */
function changes(c: CanvasRenderingContext2D, line: Line, area: Area, top: number, bottom: number): void {
  const list = line.row.changes ?? [];
  const high = Math.max(7, bottom - top - 1);
  const y = (top + bottom - high) / 2;
  c.font = `bold 10px ${colour("--font")}`;
  c.textBaseline = "middle";
  let first = 0;
  list.forEach((change, i) => {
    const x = area.x(Date.parse(change.time));
    bar(c, x, y, high);
    const next = list[i + 1];
    const text = `${list[first]!.before}→${change.shards}`;
    const width = c.measureText(text).width + 8;
    if (next && area.x(Date.parse(next.time)) - x < width + 4) return;
    if (bottom - top >= legible) flag(c, text, x + width > area.left + area.width ? x - width : x + 5, y + high / 2 + 0.5);
    first = i + 1;
  });
}

function bar(c: CanvasRenderingContext2D, x: number, y: number, height: number): void {
  c.fillStyle = "#0a0a12";
  c.fillRect(x - 2, y, 4, height);
  c.fillStyle = "#ffffff";
  c.fillRect(x - 1, y, 2, height);
}

/** flag draws a bar's label with an outline and no background, so that the cells stay visible. */
function flag(c: CanvasRenderingContext2D, text: string, x: number, y: number): void {
  c.lineWidth = 3;
  c.strokeStyle = "rgb(10 10 18 / .85)";
  c.lineJoin = "round";
  c.strokeText(text, x, y);
  c.fillStyle = "#ffffff";
  c.fillText(text, x, y);
  c.lineWidth = 1;
}
