import { area, Chart, dotted, rateAxis, timeAxis, type Option } from "./chart";
import { h } from "./dom";
import { gestures } from "./gestures";
import { layout, lineAt, under, type Layout } from "./layout";
import { cells, draw } from "./paint";
import { perSecond, type Line, type Picture } from "./picture";
import { colour } from "./theme";
import { clock, visible, zone } from "./text";
import { above, Tip, type Place } from "./tip";
import { fitted, narrowed, whole, type Zoom } from "./zoom";

export interface Point {
  x: number;
  y: number;
}

/** Events are the page's handlers for the user's actions on the map. */
export interface Events {
  open?(line: Line): void;
  unfold?(line: Line): void;
  zoomed?(zoom: Zoom | undefined): void;
}

interface Coordinates {
  coord(at: number[]): number[];
}

/** HeatMap draws a picture: time from left to right, keys from top to bottom, the chosen metric as brightness. */
export class HeatMap {
  readonly tip = new Tip();
  readonly rowBox = h("div", { class: "rowbox", hidden: true });
  readonly brush = h("div", { class: "brush", hidden: true });
  picture: Picture | undefined;
  cursor: Place = { line: 0, column: -1 };
  private readonly chart: Chart;
  private layout: Layout | undefined;
  private cells: HTMLCanvasElement | undefined;

  constructor(readonly place: HTMLElement, readonly on: Events, private zoom?: Zoom) {
    const canvas = h("div", { class: "canvas" });
    place.append(canvas, this.rowBox, this.brush, this.tip.box, this.tip.spoken);
    this.chart = new Chart(canvas, () => this.options());
    this.chart.chart.on("datazoom", () => this.dragged());
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", "Heat map. Arrow keys move through keys and time, Enter opens a key, Space unfolds its write shards, plus and minus zoom, 0 resets the zoom, Escape closes the tip.");
    gestures(this);
  }

  end(): void {
    this.chart.end();
  }

  /** show draws a picture. It keeps the zoom and an open tip. */
  show(p: Picture): void {
    this.picture = p;
    this.cells = cells(p);
    this.zoom = fitted(this.zoom, p.scale);
    this.redraw();
    this.place.dataset["columns"] = String(p.scale.columns);
    if (!this.tip.open) return;
    const at = this.tip.moved(p);
    if (at) this.showTip(at, false);
    else this.leave();
  }

  private redraw(): void {
    if (!this.picture) return;
    this.layout = layout(this.picture, this.place.clientWidth, window.innerHeight);
    this.place.style.height = `${Math.round(this.layout.top + this.layout.height + under)}px`;
    this.chart.draw();
  }

  /** point frames a line, such as the list's focused one. Undefined removes the frame. */
  point(line: number | undefined): void {
    if (line === undefined || this.tip.open) this.rowBox.hidden = !this.tip.open;
    else this.frame({ line, column: -1 });
  }

  /** narrow multiplies the visible time by a factor. */
  narrow(factor: number): void {
    if (this.picture) this.zoomTo(narrowed(this.shown(), this.picture.scale, factor));
  }

  /** zoomTo shows a part of the map, or all of it if zoom is undefined. */
  zoomTo(zoom: Zoom | undefined): void {
    if (!this.picture) return;
    this.zoom = fitted(zoom, this.picture.scale);
    this.leave();
    this.chart.draw();
    this.on.zoomed?.(this.zoom);
  }

  get zoomed(): boolean {
    return this.zoom !== undefined;
  }

  /** shown returns the visible part of the map. */
  shown(): Zoom {
    return this.zoom ?? whole(this.picture!.scale);
  }

  /** dragged applies the zoom that the user set with a slider or the wheel. */
  private dragged(): void {
    const zooms = (this.chart.chart.getOption() as { dataZoom?: { start: number; end: number }[] }).dataZoom;
    const [time, rows] = [zooms?.[0], zooms?.[2]];
    if (!time || !rows || !this.picture) return;
    const { from, span } = this.picture.scale;
    this.zoom = fitted({ from: from + (span * time.start) / 100, to: from + (span * time.end) / 100, follows: time.end > 99.9, rows: [rows.start / 100, rows.end / 100] }, this.picture.scale);
    this.leave();
    this.on.zoomed?.(this.zoom);
  }

  private options(): Option | undefined {
    const { picture: p, layout: l } = this;
    if (!p || !l || this.place.clientWidth === 0) return undefined;
    const { scale } = p;
    const z = this.shown();
    const grid = { left: l.gutter, right: l.right, outerBoundsMode: "none" };
    const throttled = p.throttled && p.look.layers.throttled;
    return {
      animation: false, textStyle: { fontFamily: colour("--font") },
      grid: [{ ...grid, top: 20, height: l.strip - 26 }, { ...grid, top: l.top, height: l.height }],
      xAxis: [
        { ...timeAxis(z.from, z.to), gridIndex: 0, min: scale.from, max: scale.to, axisLabel: { show: false }, axisTick: { show: false } },
        { ...timeAxis(z.from, z.to), gridIndex: 1, min: scale.from, max: scale.to },
      ],
      yAxis: [
        { ...rateAxis(`all keys, WCU/s${throttled ? " · throttled writes/s" : ""}`), gridIndex: 0, splitNumber: 2 },
        { type: "value", gridIndex: 1, inverse: true, min: 0, max: l.height, show: false },
      ],
      dataZoom: this.zooms(z, l),
      series: [
        area("all keys", scale.series((i) => scale.rate(p.heat.total[i]!, i)), "--series", { xAxisIndex: 0, yAxisIndex: 0, silent: true }),
        dotted("other keys", scale.series((i) => scale.rate(p.heat.rest[i]!, i)), { xAxisIndex: 0, yAxisIndex: 0, silent: true }),
        area("throttled", throttled ? scale.series((i) => perSecond(p.throttled![i], scale)) : [], "--throttled", { xAxisIndex: 0, yAxisIndex: 0, silent: true, areaStyle: { color: colour("--throttled"), opacity: 0.5 } }),
        { name: "map", type: "custom", xAxisIndex: 1, yAxisIndex: 1, data: [[scale.from, 0]], clip: false, silent: true, renderItem: (_: unknown, api: Coordinates) => this.render(api) },
      ],
    } as unknown as Option;
  }

  private zooms(z: Zoom, l: Layout): unknown[] {
    const { scale } = this.picture!;
    const slider = {
      type: "slider", filterMode: "none", throttle: 50, showDetail: false, brushSelect: false, borderColor: colour("--line"), fillerColor: colour("--filler"), backgroundColor: "transparent",
      handleStyle: { color: colour("--panel"), borderColor: colour("--quiet") }, moveHandleStyle: { color: colour("--line") }, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
    };
    const time = { xAxisIndex: [0, 1], start: (100 * (z.from - scale.from)) / scale.span, end: (100 * (z.to - scale.from)) / scale.span };
    const inside = { type: "inside", filterMode: "none", throttle: 50, zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false };
    return [
      { ...inside, ...time },
      { ...slider, ...time, bottom: 6, height: 16 },
      { ...slider, yAxisIndex: 1, start: 100 * z.rows[0], end: 100 * z.rows[1], right: 4, width: 12, top: l.top, height: l.height, show: l.right > 14 },
    ];
  }

  /** render returns the chart's elements: the visible cells, the markers above them and the time zone. */
  private render(api: Coordinates): unknown {
    const [p, l] = [this.picture!, this.layout!];
    const width = this.place.clientWidth - l.gutter - l.right;
    const ratio = window.devicePixelRatio || 1;
    const x = (ms: number) => api.coord([ms, 0])[0]!;
    const top = (line: number) => api.coord([p.scale.from, l.edges[line]!])[1]! - l.top;
    const canvas = draw(p, this.cells!, { left: l.gutter, width, height: l.height, ratio, x, top });
    const markers = p.look.layers.events ? p.events.map((e) => x(e.time)).filter((at) => at >= l.gutter && at <= l.gutter + width) : [];
    return { type: "group", children: [
      { type: "image", style: { image: canvas, x: 0, y: l.top, width: l.gutter + width, height: l.height }, silent: true },
      ...markers.map((at) => marker(at, l.lane + 2)),
      { type: "text", style: { text: `local time (${zone(p.scale.to)})`, x: 4, y: l.top + l.height + 21, fill: colour("--quiet"), font: `11px ${colour("--font")}` }, silent: true },
    ] };
  }

  /** at returns the cell at a point; undefined if there is none. */
  at(point: Point): Place | undefined {
    const { picture: p, layout: l } = this;
    if (!p || !l || point.x > this.place.clientWidth - l.right || point.y < 0) return undefined;
    const value = this.value(point);
    const column = point.x < l.gutter ? -1 : Math.floor((value.x - p.scale.from) / p.scale.step);
    if (column >= p.scale.columns) return undefined;
    if (point.y < l.top) return column < 0 ? undefined : { line: above, column };
    const line = point.y < l.top + l.height ? lineAt(l.edges, value.y) : -1;
    return line < 0 || line >= p.lines.length ? undefined : { line, column };
  }

  /** disclosure returns the line whose unfold arrow is at a point. */
  disclosure(point: Point): Line | undefined {
    const at = point.x < 28 ? this.at(point) : undefined;
    const line = at && this.picture!.lines[at.line];
    return line?.unfolds ? line : undefined;
  }

  /** value converts a point to a time in ms and a y coordinate on the full map. */
  value(point: Point): Point {
    const [x, y] = this.chart.chart.convertFromPixel({ gridIndex: 1 }, [point.x, point.y]) as unknown as [number, number];
    return { x, y };
  }

  /** share converts a y coordinate on the full map to a share of its height. */
  share(y: number): number {
    return Math.min(1, Math.max(0, y / this.layout!.height));
  }

  private pixel(ms: number, y: number): Point {
    const [px, py] = this.chart.chart.convertToPixel({ gridIndex: 1 }, [ms, y]) as unknown as [number, number];
    return { x: px, y: py };
  }

  /** frame draws a frame around a place's line, and returns its position. */
  private frame(at: Place): { x: number; top: number; bottom: number } | undefined {
    const { picture: p, layout: l } = this;
    if (!p || !l || at.line >= p.lines.length) return undefined;
    const x = at.column < 0 ? l.gutter : this.pixel(p.scale.middle(at.column), 0).x;
    this.rowBox.hidden = at.line === above;
    if (at.line === above) return { x, top: 20, bottom: l.top };
    const top = Math.max(l.top, this.pixel(p.scale.from, l.edges[at.line]!).y);
    const bottom = Math.min(l.top + l.height, this.pixel(p.scale.from, l.edges[at.line + 1]!).y);
    this.rowBox.hidden = bottom <= top;
    Object.assign(this.rowBox.style, { top: `${top - 1}px`, height: `${Math.max(2, bottom - top) + 2}px`, left: "0", right: `${l.right - 2}px` });
    return { x, top, bottom };
  }

  /** showTip shows the tip of a place. With aloud, screen readers read it. */
  showTip(at: Place, aloud: boolean): void {
    const box = this.frame(at);
    if (!box) return;
    this.cursor = at;
    const near = at.line === above ? this.picture!.events.filter((e) => Math.abs(this.pixel(e.time, 0).x - box.x) < 7).map((e) => `${clock(e.time)} ${visible(e.text)}`) : [];
    this.tip.show(this.picture!, at, near, aloud);
    this.tip.put(box.x, box.top, box.bottom);
  }

  /** leave hides the tip and the frames. */
  leave(): void {
    this.tip.close();
    this.rowBox.hidden = this.brush.hidden = true;
  }
}

/** marker returns the diamond above the map of a shard-count change. */
function marker(x: number, y: number): unknown {
  return { type: "polygon", shape: { points: [[x, y], [x + 5, y + 5], [x, y + 10], [x - 5, y + 5]] }, style: { fill: colour("--count") }, silent: true };
}
