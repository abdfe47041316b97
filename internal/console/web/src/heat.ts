import { cut, duration, figure, percent, visible } from "./text";
import type { Heat, Row, Status } from "./types";

/** Scale turns write units of a column into what is drawn and said. */
export class Scale {
  readonly from: number;
  readonly to: number;
  readonly step: number; // ms
  readonly columns: number;
  constructor(readonly heat: Heat) {
    this.from = Date.parse(heat.from);
    this.step = duration(heat.step);
    this.columns = heat.total.length;
    this.to = this.from + this.columns * this.step;
  }
  /** rate is write units a second. */
  rate(units: number): number {
    return units / (this.step / 1000);
  }
  /** share is that of a partition's limit. */
  share(units: number): number {
    return this.rate(units) / this.heat.partition_wcu;
  }
  start(column: number): number {
    return this.from + column * this.step;
  }
  covered(column: number): number {
    return this.heat.covered?.[column] ?? 1;
  }
}

// Inferno, from dark to bright at an even pace: brightness alone says all, so it is read
// without telling colours apart. Cold is just above the ground, which stands for nothing written.
const stops = [[20, 17, 42], [40, 11, 84], [82, 13, 108], [124, 29, 109], [165, 44, 96], [204, 66, 72], [237, 105, 37], [251, 155, 6], [247, 209, 61], [252, 255, 164]] as const;

/** ground is the colour of a column in which nothing was written. */
export const ground = [10, 10, 18] as const;

/** place is where a share of the limit is on the scale, 0 to 1: its root, so that warm is told from cold. */
export function place(share: number): number {
  return Math.sqrt(Math.min(1, Math.max(0, share)));
}

/** paint is the colour of a share of the limit. */
export function paint(share: number): readonly [number, number, number] {
  if (share <= 0) return ground;
  const x = place(share) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(x));
  const [a, b] = [stops[i]!, stops[i + 1]!];
  const mix = (k: 0 | 1 | 2) => Math.round(a[k] + (b[k] - a[k]) * (x - i));
  return [mix(0), mix(1), mix(2)];
}

/** mark is the sign beside a row that says without colour what it is. */
export const mark: Record<Status, string> = { saturated: "◆", hot: "▲", warm: "" };

/** hot tells whether a row stands out. */
export function hot(row: { status: Status }): boolean {
  return row.status !== "warm";
}

/** label is a row's name, in at most n characters. */
export function label(row: Row, n: number): string {
  const tail = row.index ? ` · ${visible(row.index)}` : "";
  if (row.keys <= 1) return cut(visible(row.key), n - tail.length) + tail;
  const count = ` ×${row.keys.toLocaleString("en-US")}` + tail;
  return cut(visible(row.key) + "*", n - count.length) + count;
}

/** address takes what is after # apart: #/?range=1h&prefix=C%23 or #/key?type=counter&name=a. */
export function address(): { path: string; query: URLSearchParams } {
  const [path = "", query = ""] = (location.hash.slice(1) || "/").split(/\?(.*)/s);
  return { path, query: new URLSearchParams(query) };
}

/** prominent are the rows that have their name beside the map: those that are hot, and of the warm keys the heaviest, if they are not far from it. */
export function prominent(heat: Heat): Set<Row> {
  const named = heat.rows.filter(hot);
  const warm = heat.rows.filter((row) => !hot(row) && row.keys === 1 && row.write_units_per_second >= 0.05 * heat.partition_wcu);
  warm.sort((a, b) => b.write_units_per_second - a.write_units_per_second);
  return new Set([...named, ...warm.slice(0, Math.max(0, most - named.length))]);
}

const most = 16; // names, unless more keys are hot

/** crop leaves out the time before anything was counted, but for the shortest span that makes a picture. */
export function crop(heat: Heat): Heat {
  const first = heat.covered?.findIndex((c) => c > 0) ?? 0;
  const n = Math.min(first - 1, heat.total.length - shortest);
  if (n <= 0) return heat;
  const later = <T>(list: T[]) => list.slice(n);
  return {
    ...heat, from: new Date(Date.parse(heat.from) + n * duration(heat.step)).toISOString(), total: later(heat.total), rest: later(heat.rest), covered: later(heat.covered!),
    rows: heat.rows.map((row) => ({ ...row, units: later(row.units), error: later(row.error) })),
  };
}

const shortest = 12; // columns

/** link is where a row leads: a key to its page, a range to the map of its keys, both of the time shown now. */
export function link(row: { key: string; keys?: number; index?: string; type?: string; name?: string }): string {
  const range = address().query.get("range");
  const base = row.type && row.type !== "other" && row.name !== undefined;
  const what: Record<string, string> = (row.keys ?? 1) > 1 ? { prefix: row.key } : base ? { type: row.type!, name: row.name! } : { key: row.key };
  if (row.index && !what["type"]) what["index"] = row.index;
  return ((row.keys ?? 1) > 1 ? "#/?" : "#/key?") + new URLSearchParams(range ? { ...what, range } : what);
}

/** sum is the units over all columns. */
export function sum(units: number[]): number {
  return units.reduce((a, b) => a + b, 0);
}

/** cellLines says what a cell holds, line by line. */
export function cellLines(scale: Scale, row: Row, column: number): string[] {
  const [units, error] = [row.units[column] ?? 0, row.error[column] ?? 0];
  const lines = [`${figure(scale.rate(units))} write units/s · ${percent(scale.share(units))} of a partition's limit`];
  if (error > 0) lines.push(`at most ${figure(scale.rate(units + error))}/s (error ${figure(scale.rate(error))})`);
  const covered = scale.covered(column);
  if (covered <= 0) return ["nothing was counted: not read, or nothing written"];
  if (covered < 1) lines.push(`${percent(covered)} of this time was read`);
  return lines;
}
