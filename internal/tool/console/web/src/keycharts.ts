import { area, dotted, rateAxis, timeAxis, tip, type Option } from "./chart";
import { perSecond, type Line, type Picture } from "./picture";
import type { Scale } from "./scale";
import { colour } from "./theme";
import { figure, zone } from "./text";
import type { ShardCount } from "./types";

/** KeyData is the data of a key's page. */
export interface KeyData {
  picture: Picture;
  line: Line | undefined; // undefined without writes in the time shown
  shards: ShardCount | undefined;
}

function frame(scale: Scale, top = 30): Record<string, unknown> {
  return {
    animation: false, textStyle: { fontFamily: colour("--font") }, grid: { left: 46, right: 40, top, bottom: 24, outerBoundsMode: "none" },
    xAxis: timeAxis(scale.from, scale.to), tooltip: tip(scale.span, { "write shards": "", "throttled writes": "/s" }),
  };
}

/** changes returns vertical lines at the shard-count changes. */
function changes({ line }: KeyData): Record<string, unknown>[] {
  return (line?.row.changes ?? []).map((c) => ({ xAxis: Date.parse(c.time), lineStyle: { color: colour("--count"), width: 1, type: "solid" }, label: { formatter: String(c.shards), color: colour("--count"), fontSize: 10 } }));
}

/** hottest charts the rate of the hottest partition key, with threshold, limit and shard-count changes. */
export function hottest(data: KeyData): Option {
  const { picture: { heat, scale }, line } = data;
  const level = (name: string, y: number, c: string) => ({ yAxis: y, lineStyle: { color: colour(c), type: "dashed", width: 1 }, label: { formatter: name, position: "insideStartTop", color: colour(c), fontSize: 11 } });
  const rate = scale.series((i) => line?.row.heaviest[i] ?? 0);
  const marks = { silent: true, symbol: "none", data: [level(`threshold ${figure(heat.hot_wcu)}`, heat.hot_wcu, "--hot"), level(`limit ${figure(heat.partition_wcu)}`, heat.partition_wcu, "--saturated"), ...changes(data)] };
  return {
    ...frame(scale, 44), yAxis: { ...rateAxis(`WCU/s, maximum · local time (${zone(scale.to)})`), nameGap: 22, max: (v: { max: number }) => (v.max > heat.partition_wcu ? null : heat.partition_wcu * 1.1) },
    series: [area("hottest write shard", rate, "--series", { lineStyle: { width: 1.8, color: colour("--series") }, markLine: marks })],
  } as unknown as Option;
}

/** together charts the rate of all write shards, the shard count, and throttled writes. */
export function together({ picture: { scale }, line, shards }: KeyData): Option | undefined {
  if (!shards) return undefined;
  const within = shards.history.filter((c) => Date.parse(c.time) > scale.from && Date.parse(c.time) < scale.to);
  const first = shards.history.filter((c) => Date.parse(c.time) <= scale.from).at(-1)?.shards ?? line?.row.changes?.[0]?.before ?? 1;
  const steps = [[scale.from, first], ...within.map((c) => [Date.parse(c.time), c.shards]), [scale.to, within.at(-1)?.shards ?? first]];
  const throttled = line?.throttled;
  const right = { position: "right", minInterval: 1, splitLine: { show: false }, max: (v: { max: number }) => Math.ceil(v.max * 1.2), nameTextStyle: { color: colour("--quiet"), fontSize: 11, align: "right" } };
  return {
    ...frame(scale), yAxis: [rateAxis("WCU/s, mean"), { ...rateAxis("write shards"), ...right }],
    series: [
      area("all write shards", scale.series((i) => scale.rate(line?.row.units[i] ?? 0, i)), "--series"),
      dotted("throttled writes", throttled ? scale.series((i) => perSecond(throttled[i], scale)) : [], { lineStyle: { width: 1.5, color: colour("--throttled") }, itemStyle: { color: colour("--throttled") } }),
      { name: "write shards", type: "line", yAxisIndex: 1, step: "end", symbol: "circle", symbolSize: 6, data: steps, lineStyle: { width: 2, color: colour("--count") }, itemStyle: { color: colour("--count") } },
    ],
  } as unknown as Option;
}
