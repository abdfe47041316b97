import { Chart, rateAxis, timeAxis, tip, type Option } from "./chart";
import { h } from "./dom";
import { cellLines, ground, hot, label, mark, paint, prominent, Scale } from "./heat";
import { colour } from "./theme";
import { clock, visible } from "./text";
import type { Heat, Row } from "./types";

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Place {
  row: number;
  column: number; // -1: beside the map, on the row's name
}

/** Events are what the map tells its page. */
export interface Events {
  open?(row: Row): void;
  /** more are further lines on a row's tip, known now or later. */
  more?(row: Row): Promise<string[]>;
}

const total = 58; // height of the strip above the map, in pixels
const tall = 15; // of a row that is named, if there is room
const legible = 11; // from which height on a row has its name beside it

/**
 * HeatMap draws the matrix: time across, keys down, brightness for write units a second.
 * Rows that stand out are taller, so that a name fits beside them.
 */
export class HeatMap {
  private readonly chart: Chart;
  private readonly tipBox = h("div", { class: "tip", hidden: true });
  private readonly rowBox = h("div", { class: "rowbox", hidden: true });
  private readonly brush = h("div", { class: "brush", hidden: true });
  private readonly said = h("div", { class: "unseen", "aria-live": "polite" });
  private scale: Scale | undefined;
  private named = new Set<Row>();
  private edges: number[] = [0]; // rows' upper edges, and the last one's lower
  private pixels: HTMLCanvasElement | undefined; // one for each cell
  private cursor: Place = { row: 0, column: -1 };
  private pressed: { x: number; y: number } | undefined;

  /** With estimates, a column that was read in part is drawn like one that was read: it holds what the whole of it took. */
  constructor(private readonly place: HTMLElement, private readonly on: Events, private readonly estimates = false) {
    const canvas = h("div", { class: "canvas" });
    place.append(canvas, this.rowBox, this.brush, this.tipBox, this.said);
    this.chart = new Chart(canvas, () => this.options());
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", "Heat map. Arrow keys go from row to row and through time, Enter opens the row, plus and minus zoom, 0 shows all.");
    place.addEventListener("keydown", (e) => this.key(e));
    place.addEventListener("blur", () => this.leave());
    this.pointer();
  }

  end(): void {
    this.chart.end();
  }

  /** show draws a matrix; what is zoomed stays zoomed. */
  show(heat: Heat): void {
    this.scale = new Scale(heat);
    this.named = prominent(heat);
    this.pixels = pixels(this.scale);
    this.chart.draw();
    this.place.dataset["columns"] = String(heat.total.length);
  }

  /** point shows where a row is; undefined ends that. */
  point(row: number | undefined): void {
    if (row === undefined) return this.leave();
    this.frame({ row, column: -1 });
  }

  /** zoom shows a part of the time, about its middle: 0.5 is half of what is shown. */
  zoom(factor: number): void {
    const { start, end } = this.zoomed(0);
    const [middle, half] = [(start + end) / 2, Math.min(50, ((end - start) / 2) * factor)];
    const from = Math.min(Math.max(0, middle - half), 100 - 2 * half);
    this.chart.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start: from, end: from + 2 * half });
    this.place.dataset["zoom"] = `${from.toFixed(1)}-${(from + 2 * half).toFixed(1)}`;
  }

  /** whole ends all zooming. */
  whole(): void {
    this.chart.chart.dispatchAction({ type: "dataZoom", batch: [0, 2].map((dataZoomIndex) => ({ dataZoomIndex, start: 0, end: 100 })) });
    delete this.place.dataset["zoom"];
  }

  private zoomed(index: number): { start: number; end: number } {
    const zooms = (this.chart.chart.getOption() as { dataZoom?: { start: number; end: number }[] } | undefined)?.dataZoom;
    return zooms?.[index] ?? { start: 0, end: 100 };
  }

  private height(): number {
    return Math.max(100, this.place.clientHeight - total - 58);
  }

  /** gutter is the room for names: as much as the hot ones need, if they have no more than that. */
  private gutter(): number {
    if (this.place.clientWidth < 600) return 96;
    const longest = Math.max(0, ...[...this.named].map((row) => label(row, 40).length));
    return Math.min(250, Math.max(100, 38 + 6.7 * longest));
  }

  private options(): Option | undefined {
    const { scale } = this;
    if (!scale || this.place.clientWidth === 0) return undefined;
    this.edges = edges(scale.heat.rows, this.named, this.height());
    const left = this.gutter();
    const right = this.place.clientWidth < 600 ? 14 : 36;
    const line = (units: number[]) => units.map((u, i) => [scale.start(i) + scale.step / 2, scale.covered(i) > 0 ? scale.rate(u) : null]);
    const zoom = { filterMode: "none", throttle: 50 };
    const slider = {
      ...zoom, type: "slider", showDetail: false, brushSelect: false, borderColor: colour("--line"), fillerColor: colour("--filler"), backgroundColor: "transparent",
      handleStyle: { color: colour("--panel"), borderColor: colour("--quiet") }, moveHandleStyle: { color: colour("--line") }, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
    };
    return {
      animation: false, useUTC: true, textStyle: { fontFamily: colour("--font") },
      grid: [{ left, right, top: 18, height: total - 22, outerBoundsMode: "none" }, { left, right, top: total + 8, height: this.height(), outerBoundsMode: "none" }],
      xAxis: [
        { ...timeAxis(scale.from, scale.to), gridIndex: 0, axisLabel: { show: false }, axisTick: { show: false } },
        { ...timeAxis(scale.from, scale.to), gridIndex: 1, axisPointer: { show: false } },
      ],
      yAxis: [
        { ...rateAxis("all keys together, write units/s"), gridIndex: 0, splitNumber: 2 },
        { type: "value", gridIndex: 1, inverse: true, min: 0, max: this.edges.at(-1), show: false, axisPointer: { show: false } },
      ],
      tooltip: tip(scale.to - scale.from),
      dataZoom: [
        { ...zoom, type: "inside", xAxisIndex: [0, 1], zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false },
        { ...slider, xAxisIndex: [0, 1], bottom: 6, height: 16 },
        { ...slider, yAxisIndex: 1, right: 4, width: 12, top: total + 8, height: this.height(), show: right > 14 },
      ],
      series: [
        { name: "all keys", type: "line", xAxisIndex: 0, yAxisIndex: 0, data: line(scale.heat.total), showSymbol: false, step: "middle", lineStyle: { width: 1.2, color: colour("--series") }, itemStyle: { color: colour("--series") }, areaStyle: { color: colour("--series"), opacity: 0.15 } },
        { name: "in no row", type: "line", xAxisIndex: 0, yAxisIndex: 0, data: line(scale.heat.rest), showSymbol: false, step: "middle", lineStyle: { width: 1, type: "dotted", color: colour("--quiet") }, itemStyle: { color: colour("--quiet") } },
        { name: "map", type: "custom", xAxisIndex: 1, yAxisIndex: 1, data: [[scale.from, 0]], clip: false, silent: true, tooltip: { show: false }, renderItem: (p: { coordSys: Box }, api: { coord(at: number[]): number[] }) => this.render(p.coordSys, api) },
      ],
    } as unknown as Option;
  }

  /** render paints the part of the map that is seen, as one picture, and the names beside it. */
  private render(raw: Box, api: { coord(at: number[]): number[] }): unknown {
    const [scale, source] = [this.scale!, this.pixels!];
    const area: Box = { x: raw.x, y: raw.y, width: raw.width, height: raw.height };
    const ratio = window.devicePixelRatio || 1;
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(area.width * ratio));
    canvas.height = Math.max(1, Math.round(area.height * ratio));
    const c = canvas.getContext("2d")!;
    c.imageSmoothingEnabled = false;
    c.fillStyle = `rgb(${ground.join()})`;
    c.fillRect(0, 0, canvas.width, canvas.height);
    const [left, right] = [scale.from, scale.to].map((t) => (api.coord([t, 0])[0]! - area.x) * ratio) as [number, number];
    const names: unknown[] = [];
    scale.heat.rows.forEach((row, i) => {
      const [top, bottom] = [this.edges[i]!, this.edges[i + 1]!].map((w) => Math.round((api.coord([scale.from, w])[1]! - area.y) * ratio)) as [number, number];
      if (bottom <= 0 || top >= canvas.height) return;
      const gap = this.named.has(row) ? 1 : 0;
      c.drawImage(source, 0, i, source.width, 1, left, top, right - left, Math.max(1, bottom - top - gap));
      const high = (bottom - top) / ratio;
      const middle = area.y + (top + bottom) / 2 / ratio;
      if (hot(row)) names.push(bar(row, area.x, area.y + Math.max(0, top) / ratio, (Math.min(bottom, canvas.height) - Math.max(0, top)) / ratio));
      if (high < legible - 1 || middle < area.y || middle > area.y + area.height) return;
      names.push(...this.name(row, area.x - 10, middle));
    });
    this.unread(c, left, (right - left) / scale.columns, ratio);
    return { type: "group", children: [{ type: "image", style: { image: canvas, ...area }, silent: true }, ...names] };
  }

  /** name is a row's, left of the map: its sign, and its text. */
  private name(row: Row, x: number, y: number): unknown[] {
    const room = this.gutter() - (hot(row) ? 30 : 16);
    const fit = Math.floor(room / 6.7);
    const style = { x, y, text: label(row, fit), font: `11px ${colour("--mono")}`, fill: colour(hot(row) ? "--text" : "--quiet"), textAlign: "right", textVerticalAlign: "middle" };
    const sign = { ...style, x: 4, text: mark[row.status], textAlign: "left", fill: colour(row.status === "saturated" ? "--saturated" : "--hot"), font: `12px ${colour("--font")}` };
    return (hot(row) ? [style, sign] : [style]).map((s) => ({ type: "text", style: s, silent: true }));
  }

  /** unread hatches the columns of which not all was read: they are not cold. */
  private unread(c: CanvasRenderingContext2D, left: number, width: number, ratio: number): void {
    for (let i = 0; i < this.scale!.columns; i++) {
      const covered = this.scale!.covered(i);
      if (covered >= 1 || (this.estimates && covered > 0)) continue;
      const [x, w] = [Math.floor(left + i * width), Math.ceil(width)];
      if (x > c.canvas.width || x + w < 0) continue;
      if (covered <= 0) {
        c.fillStyle = "#565b66";
        c.fillRect(x, 0, w, c.canvas.height);
      }
      c.save();
      c.beginPath();
      c.rect(x, 0, w, c.canvas.height);
      c.clip();
      c.globalAlpha = covered <= 0 ? 0.9 : 0.35;
      c.strokeStyle = "#aab0bb";
      c.lineWidth = ratio;
      c.beginPath();
      const slant = 7 * ratio;
      for (let y = -w - ((x % slant) + slant); y < c.canvas.height + w; y += slant) {
        c.moveTo(x, y + w + (x % slant));
        c.lineTo(x + w, y + (x % slant));
      }
      c.stroke();
      c.restore();
    }
  }

  /** at finds the row and column of a point, in pixels of the place. */
  private at(x: number, y: number): Place | undefined {
    if (!this.scale || y < total + 8 || y > total + 8 + this.height() || x > this.place.clientWidth - 12) return undefined;
    const found = this.chart.chart.convertFromPixel({ gridIndex: 1 }, [x, y]) as unknown as number[] | undefined;
    if (!found) return undefined;
    const row = this.edges.findIndex((edge, i) => i > 0 && found[1]! < edge) - 1;
    if (row < 0) return undefined;
    const column = Math.floor((found[0]! - this.scale.from) / this.scale.step);
    if (x < this.gutter()) return { row, column: -1 };
    return column < 0 || column >= this.scale.columns ? undefined : { row, column };
  }

  /** frame marks a row, and returns where it is. */
  private frame(at: Place): Box | undefined {
    const { scale } = this;
    if (!scale || at.row >= scale.heat.rows.length) return undefined;
    const pixel = (ms: number, weight: number) => this.chart.chart.convertToPixel({ gridIndex: 1 }, [ms, weight]) as unknown as [number, number];
    const [top, bottom] = [pixel(scale.from, this.edges[at.row]!)[1], pixel(scale.from, this.edges[at.row + 1]!)[1]];
    const lowest = total + 8 + this.height();
    const y = Math.max(top, total + 8);
    const high = Math.min(bottom, lowest) - y;
    this.rowBox.hidden = high <= 0;
    Object.assign(this.rowBox.style, { top: `${y - 1}px`, height: `${Math.max(2, high) + 2}px`, left: "0", right: "12px" });
    return { x: at.column < 0 ? this.gutter() : pixel(scale.start(at.column) + scale.step / 2, 0)[0], y, width: 0, height: high };
  }

  /** tell shows a cell's tip, and says it to those who hear the page, if asked to. */
  private tell(at: Place, aloud: boolean): void {
    const box = this.frame(at);
    const row = this.scale?.heat.rows[at.row];
    if (!box || !row || !this.scale) return;
    this.cursor = at;
    const time = at.column < 0 ? "" : clock(this.scale.start(at.column), this.scale.to - this.scale.from) + " UTC";
    const lines = at.column < 0 ? peak(this.scale, row) : cellLines(this.scale, row, at.column);
    const title = row.keys > 1 ? `${visible(row.key)}* — ${row.keys.toLocaleString("en-US")} keys together` : visible(row.key);
    const extra = h("div", {});
    this.tipBox.replaceChildren(
      h("div", { class: "key" }, title),
      ...(row.keys > 1 ? [h("div", { class: "quiet key" }, `${visible(row.first ?? "")} … ${visible(row.last ?? "")}`)] : []),
      h("div", { class: "quiet" }, [row.status, row.index && `index ${visible(row.index)}`, time].filter(Boolean).join(" · ")),
      ...lines.map((l) => h("div", {}, l)), extra);
    this.tipBox.hidden = false;
    const [w, hgt] = [this.tipBox.offsetWidth, this.tipBox.offsetHeight];
    const x = Math.max(4, Math.min(box.x + 14, this.place.clientWidth - w - 4));
    const below = box.y + box.height + 8;
    Object.assign(this.tipBox.style, { left: `${x}px`, top: `${below + hgt > this.place.clientHeight && box.y - hgt - 8 > 0 ? box.y - hgt - 8 : below}px` });
    if (aloud) this.said.textContent = [title, row.status, time, ...lines].join(", ");
    void this.on.more?.(row).then((more) => {
      if (this.cursor === at && more.length) extra.replaceChildren(...more.map((l) => h("div", {}, l)));
    });
  }

  private leave(): void {
    this.tipBox.hidden = this.rowBox.hidden = this.brush.hidden = true;
  }

  private key(e: KeyboardEvent): void {
    const { scale } = this;
    if (!scale || e.ctrlKey || e.metaKey || e.altKey) return;
    const [last, end] = [scale.heat.rows.length - 1, scale.columns - 1];
    const { row, column } = this.cursor;
    const go: Record<string, Place> = {
      ArrowDown: { row: Math.min(last, row + (this.tipBox.hidden ? 0 : 1)), column }, ArrowUp: { row: Math.max(0, row - 1), column },
      ArrowRight: { row, column: Math.min(end, column + 1) }, ArrowLeft: { row, column: Math.max(-1, column - 1) },
      Home: { row: 0, column }, End: { row: last, column }, PageDown: { row: Math.min(last, row + 10), column }, PageUp: { row: Math.max(0, row - 10), column },
    };
    const next = go[e.key];
    if (next && last >= 0) this.tell(next, true);
    else if (e.key === "+" || e.key === "=") this.zoom(0.5);
    else if (e.key === "-") this.zoom(2);
    else if (e.key === "0" || e.key === "Escape") this.whole();
    else if (e.key === "Enter" && scale.heat.rows[row]) this.on.open?.(scale.heat.rows[row]);
    else return;
    e.preventDefault();
  }

  /** pointer: hovering tells, a click opens, a drag with the mouse zooms to what it framed. */
  private pointer(): void {
    const where = (e: MouseEvent) => {
      const box = this.place.getBoundingClientRect();
      return { x: e.clientX - box.x, y: e.clientY - box.y };
    };
    this.place.addEventListener("pointermove", (e) => {
      const to = where(e);
      if (this.pressed && Math.hypot(to.x - this.pressed.x, to.y - this.pressed.y) > 5) return this.drag(this.pressed, to);
      const at = this.at(to.x, to.y);
      if (!at) return this.leave();
      if (this.tipBox.hidden || at.row !== this.cursor.row || at.column !== this.cursor.column) this.tell(at, false);
    });
    this.place.addEventListener("pointerleave", () => this.pressed || this.leave());
    this.place.addEventListener("pointerdown", (e) => {
      const at = where(e);
      const inside = this.at(at.x, at.y)?.column !== -1 && this.at(at.x, at.y);
      this.pressed = e.pointerType === "mouse" && e.button === 0 && inside ? at : undefined;
      if (this.pressed) this.place.setPointerCapture(e.pointerId);
    });
    this.place.addEventListener("pointerup", (e) => {
      const from = this.pressed;
      this.pressed = undefined;
      if (!this.brush.hidden && from) this.frameTo(from, where(e));
    });
    this.place.addEventListener("click", (e) => {
      if (!this.brush.hidden) return void (this.brush.hidden = true);
      const to = where(e);
      const at = this.at(to.x, to.y);
      const known = at && !this.tipBox.hidden && at.row === this.cursor.row;
      if (!at) return;
      if ((e as PointerEvent).pointerType === "touch" && !known) return this.tell(at, false);
      this.on.open?.(this.scale!.heat.rows[at.row]!);
    });
    this.place.addEventListener("dblclick", () => this.whole());
  }

  private drag(from: { x: number; y: number }, to: { x: number; y: number }): void {
    this.tipBox.hidden = this.rowBox.hidden = true;
    this.brush.hidden = false;
    Object.assign(this.brush.style, {
      left: `${Math.min(from.x, to.x)}px`, top: `${Math.min(from.y, to.y)}px`, width: `${Math.abs(from.x - to.x)}px`, height: `${Math.abs(from.y - to.y)}px`,
    });
  }

  /** frameTo zooms to a rectangle, along an axis only if it is more than a line along it. */
  private frameTo(a: { x: number; y: number }, b: { x: number; y: number }): void {
    const value = (p: { x: number; y: number }) => this.chart.chart.convertFromPixel({ gridIndex: 1 }, [p.x, p.y]) as unknown as [number, number];
    const [from, to] = [value({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y) }), value({ x: Math.max(a.x, b.x), y: Math.max(a.y, b.y) })];
    const batch: { dataZoomIndex: number; startValue: number | undefined; endValue: number | undefined }[] = [];
    if (Math.abs(a.x - b.x) > 8) batch.push({ dataZoomIndex: 0, startValue: from[0], endValue: to[0] });
    if (Math.abs(a.y - b.y) > 8) batch.push({ dataZoomIndex: 2, startValue: from[1], endValue: to[1] });
    this.chart.chart.dispatchAction({ type: "dataZoom", batch });
    const { start, end } = this.zoomed(0);
    this.place.dataset["zoom"] = `${start.toFixed(1)}-${end.toFixed(1)}`;
  }
}

/** edges are the rows' upper edges. A row is 1 high; one of those that are named as much more as a name needs. */
function edges(rows: Row[], named: Set<Row>, height: number): number[] {
  const n = named.size;
  const each = Math.min(tall, (0.6 * height) / Math.max(1, n));
  const weight = n === rows.length ? 1 : Math.max(1, (each * (rows.length - n)) / (height - each * n));
  const list = [0];
  for (const row of rows) list.push(list.at(-1)! + (named.has(row) ? weight : 1));
  return list;
}

/** bar marks a hot row at the map's edge, however low the row is: half as wide as a saturated one's. */
function bar(row: Row, right: number, y: number, height: number): unknown {
  const width = row.status === "saturated" ? 6 : 3;
  return { type: "rect", shape: { x: right - 1 - width, y, width, height }, style: { fill: colour(row.status === "saturated" ? "--saturated" : "--hot") }, silent: true };
}

/** pixels is a picture with a pixel for each cell. */
function pixels(scale: Scale): HTMLCanvasElement {
  const { rows } = scale.heat;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, scale.columns);
  canvas.height = Math.max(1, rows.length);
  const c = canvas.getContext("2d")!;
  const image = c.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) => {
    for (let x = 0; x < scale.columns; x++) {
      const [r, g, b] = paint(scale.share(row.units[x] ?? 0));
      image.data.set([r, g, b, 255], 4 * (y * canvas.width + x));
    }
  });
  c.putImageData(image, 0, 0);
  return canvas;
}

/** peak says what is most of a row. */
function peak(scale: Scale, row: Row): string[] {
  let best = 0;
  row.units.forEach((u, i) => (best = u > row.units[best]! ? i : best));
  const lines = cellLines(scale, row, best);
  return [`most at ${clock(scale.start(best), scale.to - scale.from)} UTC:`, ...lines];
}
