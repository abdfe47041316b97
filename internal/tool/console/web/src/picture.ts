import { crop, Scale } from "./scale";
import { duration } from "./text";
import type { Change, HeatRow, Matrix, SignalsAnswer } from "./types";
import { cooled, hot } from "./words";

export type Metric = "max" | "mean" | "throttled";

/** metrics are the metrics that brightness can show. */
export const metrics: Record<Metric, { text: string; means: string }> = {
  max: { text: "Maximum", means: "the hottest partition key of a row, in each column's hottest window" },
  mean: { text: "Mean", means: "all keys of a row together, over the whole column" },
  throttled: { text: "Throttled", means: "writes that were throttled" },
};

/** Look has the user's settings of the map. */
export interface Look {
  metric: Metric;
  gain: number; // factor on brightness
  layers: { throttled: boolean; events: boolean };
  unfolded: Set<string>; // keys that show their write shards
  all: Set<string>; // those of them that show more than the hottest
}

export const plain: Look = { metric: "max", gain: 1, layers: { throttled: true, events: true }, unfolded: new Set(), all: new Set() };

/** Line is a line of the picture: a row of the matrix, or a write shard of an unfolded row. */
export interface Line {
  id: string;
  row: HeatRow;
  parent?: HeatRow;
  more?: number; // the line stands for so many write shards
  unfolds: boolean; // has write shards to show
  open: boolean;
  throttled: (number | null)[] | undefined; // writes throttled in each column; null where unknown
}

/** Event is a shard-count change. It has a marker above the map. */
export interface Event {
  time: number;
  text: string;
}

/** Picture is the data that the map and its list show. */
export interface Picture {
  heat: Matrix;
  scale: Scale;
  look: Look;
  lines: Line[];
  events: Event[];
  throttled: (number | null)[] | undefined; // throttled writes of all keys in each column
  brightest: number; // value of the brightest colour
}

/** picture prepares an answer for drawing. With whole, it keeps unread columns at the start. */
export function picture(whole: Matrix, look: Look, signals?: SignalsAnswer, options: { whole?: boolean } = {}): Picture {
  const heat = options.whole ? whole : crop(whole);
  const scale = new Scale(heat);
  const of = (row: HeatRow): HeatRow => ({ ...row, ...(row.changes ? { changes: row.changes.filter((c) => within(scale, c)) } : {}) });
  const lines = heat.rows.flatMap((row) => unfolded(of(row), look, (r) => throttledOf(r, scale, signals)));
  const all = signals?.throttled ? columns(signals.throttled, signals, scale) : undefined;
  const most = Math.max(1, ...lines.flatMap((l) => l.throttled ?? []).map((n) => n ?? 0));
  return {
    heat, scale, look, lines, throttled: all, events: events(lines),
    brightest: look.metric === "throttled" ? most / (scale.step / 1000) : heat.partition_wcu,
  };
}

function within(scale: Scale, c: { time: string }): boolean {
  const t = Date.parse(c.time);
  return t >= scale.from && t < scale.to;
}

/** unfolded returns a row's line, with the lines of its write shards if it is open. */
function unfolded(row: HeatRow, look: Look, throttled: (row: HeatRow) => (number | null)[] | undefined): Line[] {
  const unfolds = row.keys === 1 && row.type !== undefined && row.shards !== undefined;
  const open = unfolds && look.unfolded.has(row.key);
  const id = `${row.index ?? ""} ${row.key} ${row.keys > 1 ? row.first ?? "" : ""}`;
  const line: Line = { id, row, unfolds, open, throttled: throttled(row) };
  if (!open) return [line];
  const under = (shards: HeatRow[]) => shards.map((shard): Line => ({ id: `${id}/${shard.key}`, row: shard, parent: row, unfolds: false, open: false, throttled: undefined }));
  const all = row.write_shards ?? [];
  if (all.length <= hottest + 1 || look.all.has(row.key)) return [line, ...under(all)];
  const sorted = [...all].sort(hotter);
  const [most, others] = [sorted.slice(0, hottest), sorted.slice(hottest)];
  return [line, ...under(all.filter((shard) => most.includes(shard))), { id: `${id}/more`, row: together(others), parent: row, more: others.length, unfolds: true, open: false, throttled: undefined }];
}

const hottest = 5; // write shards of an open row that has more

/** hotter sorts write shards that are hot now first, then by their hottest windows. */
function hotter(a: HeatRow, b: HeatRow): number {
  return Number(hot(b)) - Number(hot(a)) || b.write_units_per_second - a.write_units_per_second;
}

/** together returns one row for some write shards, hottest first. It has a sign only if one is hot now. */
function together(shards: HeatRow[]): HeatRow {
  const first = shards[0]!;
  const each = (of: (row: HeatRow) => number[], join: (a: number, b: number) => number) => of(first).map((_, i) => shards.reduce((sum, row) => join(sum, of(row)[i] ?? 0), 0));
  const add = (a: number, b: number) => a + b;
  return {
    ...first, key: `${shards.length} more write shards`, worst: first.status, current: Math.max(...shards.map((s) => s.current)), peak: Math.max(...shards.map((s) => s.peak)),
    units: each((s) => s.units, add), error: each((s) => s.error, add), heaviest: each((s) => s.heaviest, Math.max),
  };
}

/** throttledOf returns a row's throttled writes in each column, summed over a range's keys; undefined if unknown. */
function throttledOf(row: HeatRow, scale: Scale, signals?: SignalsAnswer): (number | null)[] | undefined {
  if (!signals?.keys) return undefined;
  const mine = signals.keys.filter((k) => (row.keys > 1 ? k.key >= (row.first ?? "") && k.key <= (row.last ?? "") : row.name !== undefined && k.type ? k.type === row.type && k.name === row.name : k.key === row.key));
  if (mine.length === 0) return undefined;
  const each = mine.map((k) => columns(k.throttled, signals, scale));
  return each[0]!.map((_, i) => each.reduce<number | null>((sum, list) => ((list[i] ?? null) === null ? sum : (sum ?? 0) + list[i]!), null));
}

/** columns adds a signal's numbers to the columns of a scale. */
function columns(list: (number | null)[], signals: SignalsAnswer, scale: Scale): (number | null)[] {
  const out = new Array<number | null>(scale.columns).fill(null);
  const [from, step] = [Date.parse(signals.from), duration(signals.step)];
  list.forEach((n, i) => {
    const column = Math.floor((from + i * step - scale.from) / scale.step);
    if (n !== null && column >= 0 && column < scale.columns) out[column] = (out[column] ?? 0) + n;
  });
  return out;
}

/** perSecond converts a column's count to a rate; null if it is unknown. */
export function perSecond(count: number | null | undefined, scale: Scale): number | null {
  return count === null || count === undefined ? null : count / (scale.step / 1000);
}

/** events returns all shard-count changes in the time shown, oldest first. */
function events(lines: Line[]): Event[] {
  const changes = lines.flatMap(({ row, parent }) => (parent ? [] : row.changes ?? []).map((c): Event => ({ time: Date.parse(c.time), text: changeText(row, c) })));
  return changes.sort((a, b) => a.time - b.time);
}

function changeText(row: HeatRow, c: Change): string {
  return `${row.key}: ${c.before} → ${c.shards} write shards, by ${c.by}`;
}

/** value returns a cell's value in the chosen metric: WCU/s, or throttled writes/s. */
export function value(p: Picture, line: Line, column: number): number {
  const mean = p.scale.rate(line.row.units[column] ?? 0, column);
  if (p.look.metric === "throttled") return (line.throttled?.[column] ?? 0) / (p.scale.step / 1000);
  return p.look.metric === "max" ? line.row.heaviest[column] ?? 0 : mean;
}

/** brightness returns a cell's brightness as a share of the brightest. It is 0 in an answer without windows, which has no limit. */
export function brightness(p: Picture, line: Line, column: number): number {
  return p.brightest > 0 ? (value(p, line, column) / p.brightest) * p.look.gain : 0;
}

const most = 16; // maximum number of names, if no more keys were hot

/** prominent returns the lines with a name beside the map: hot and cooled keys, write shards, and the heaviest other keys. */
export function prominent(p: Picture): Set<Line> {
  const named = p.lines.filter((l) => hot(l.row) || cooled(l.row) || l.open || l.parent);
  const others = p.lines.filter((l) => !named.includes(l) && (p.lines.length <= most || (l.row.keys === 1 && l.row.write_units_per_second >= 0.05 * p.heat.partition_wcu)));
  others.sort((a, b) => b.row.write_units_per_second - a.row.write_units_per_second);
  const rows = named.filter((l) => !l.parent).length;
  return new Set([...named, ...others.slice(0, Math.max(0, most - rows))]);
}
