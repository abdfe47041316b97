import { CustomChart, LineChart } from "echarts/charts";
import { DataZoomInsideComponent, DataZoomSliderComponent, GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { h } from "./dom";
import { colour, onTheme } from "./theme";
import { clock, figure, hovered } from "./text";

echarts.use([CanvasRenderer, CustomChart, LineChart, GridComponent, TooltipComponent, DataZoomInsideComponent, DataZoomSliderComponent, MarkLineComponent]);

export type Option = Parameters<echarts.ECharts["setOption"]>[0];

/** Chart is an ECharts chart that follows the theme and the size of its element. */
export class Chart {
  readonly chart: echarts.ECharts;
  private readonly sizes: ResizeObserver;
  private readonly unlisten: () => void;

  /** The chart calls options for each drawing. */
  constructor(place: HTMLElement, private readonly options: () => Option | undefined) {
    this.chart = echarts.init(place, undefined, { renderer: "canvas" });
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(place);
    this.unlisten = onTheme(() => this.draw());
  }

  draw(): void {
    const place = this.chart.getDom();
    if (place.clientWidth !== this.chart.getWidth() || place.clientHeight !== this.chart.getHeight()) this.chart.resize();
    const o = this.options();
    if (o) this.chart.setOption(o);
  }

  end(): void {
    this.sizes.disconnect();
    this.unlisten();
    this.chart.dispose();
  }
}

/** timeAxis returns an axis of local time. */
export function timeAxis(from: number, to: number): Record<string, unknown> {
  return {
    type: "time", min: from, max: to, axisLine: { lineStyle: { color: colour("--line") } }, axisTick: { lineStyle: { color: colour("--line") } },
    axisLabel: { color: colour("--quiet"), fontSize: 11, hideOverlap: true, formatter: (ms: number) => clock(ms, to - from) }, splitLine: { show: false },
    axisPointer: { label: { show: false } },
  };
}

/** rateAxis returns an axis of rates or counts. */
export function rateAxis(name: string): Record<string, unknown> {
  return {
    type: "value", min: 0, name, nameLocation: "end", nameGap: 8, nameTextStyle: { color: colour("--quiet"), fontSize: 11, align: "left" }, splitNumber: 3,
    axisLabel: { color: colour("--quiet"), fontSize: 11, formatter: figure, showMaxLabel: false }, splitLine: { lineStyle: { color: colour("--line") } }, axisPointer: { show: false },
  };
}

/** area returns a line series with a filled area below. */
export function area(name: string, data: unknown, c: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name, type: "line", data, showSymbol: false, lineStyle: { width: 1.3, color: colour(c) }, itemStyle: { color: colour(c) },
    areaStyle: { color: colour(c), opacity: 0.15 }, ...more,
  };
}

/** dotted returns a series with a thin dotted line. */
export function dotted(name: string, data: unknown, more: Record<string, unknown> = {}): Record<string, unknown> {
  return area(name, data, "--quiet", { lineStyle: { width: 1, type: "dotted", color: colour("--quiet") }, areaStyle: undefined, ...more });
}

interface Hovered {
  seriesName: string;
  color: string;
  value: [number, number | null, number?];
}

/** tip returns a tooltip with the values of all lines at the pointer's time. */
export function tip(span: number, unit: Record<string, string> = {}): Record<string, unknown> {
  return {
    trigger: "axis", confine: true, backgroundColor: colour("--panel"), borderColor: colour("--line"), textStyle: { color: colour("--text"), fontSize: 12 },
    formatter: (points: Hovered[]) => h("div", { class: "lines" },
      h("div", {}, points[0] ? hovered(points[0].value[2] ?? points[0].value[0], span) : ""),
      ...points.filter((p) => p.value[1] !== null).map((p) => h("div", {}, `${p.seriesName}: ${figure(p.value[1]!)}${unit[p.seriesName] ?? " WCU/s"}`))),
  };
}
