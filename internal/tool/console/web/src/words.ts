import { kinds } from "./kinds";
import type { Picture, Line } from "./picture";
import { count, cut, figure, percent, visible, wcu } from "./text";
import type { HeatRow } from "./types";

type Judged = Pick<HeatRow, "status" | "worst">;

/** hot reports whether a key is hot or saturated now. */
export function hot(row: Judged): boolean {
  return row.status !== "normal";
}

/** cooled reports whether a key was hot in the time shown, and is no longer. */
export function cooled(row: Judged): boolean {
  return !hot(row) && row.worst !== "normal";
}

/** sign returns the character that shows a key's status without colour, and its CSS class. */
export function sign(row: Judged): { text: string; class: string } {
  if (row.status === "saturated") return { text: "■", class: "sign saturated" };
  if (row.status === "hot") return { text: "▲", class: "sign hot" };
  return cooled(row) ? { text: "▽", class: "sign cooled" } : { text: "", class: "sign" };
}

/** verdict returns a key's status in words. */
export function verdict(row: Judged): string {
  if (hot(row)) return row.status;
  return cooled(row) ? "cooled" : "normal";
}

/** baseKey returns a base key as it is stored, which is its name everywhere: C#page/home. */
export function baseKey(type: string, name: string): string {
  return (kinds[type]?.prefix ?? "") + name;
}

/** growth returns a key's shard count, such as 4, or 1 → 4 if it changed in the time shown. */
export function growth(shards: number | undefined, before: number | undefined): string {
  if (shards === undefined) return "";
  return before === undefined || before === shards ? String(shards) : `${before} → ${shards}`;
}

/** before returns a row's shard count before its first change in the time shown; undefined if it did not change. */
export function before(row: HeatRow): number | undefined {
  return row.changes?.[0]?.before;
}

/** label returns a row's name in at most n characters. */
export function label(row: HeatRow, n: number): string {
  const tail = row.index ? ` · ${cut(visible(row.index), 24)}` : "";
  if (row.keys <= 1) return cut(visible(row.key), n - tail.length) + tail;
  const many = ` ×${row.keys.toLocaleString("en-US")}` + tail;
  return cut(visible(row.key) + "*", n - many.length) + many;
}

/** lineLabel returns a line's name in at most n characters. A write shard's name leaves out its base key. */
export function lineLabel(line: Line, n: number): string {
  if (line.more) return `${line.more} more`;
  const base = line.parent?.key;
  return base !== undefined && line.row.key.startsWith(base) ? cut(visible(line.row.key.slice(base.length)), n) : label(line.row, n);
}

/** title returns a row's full name. */
export function title(row: HeatRow): string {
  return row.keys > 1 ? `${visible(row.key)}* — ${row.keys.toLocaleString("en-US")} keys together` : visible(row.key);
}

/** state returns a row's verdict and shard count, such as cooled · 1 → 64 write shards. */
export function state(row: HeatRow): string {
  const shards = row.shards === undefined ? "" : before(row) === undefined ? count(row.shards, "write shard") : `${growth(row.shards, before(row))} write shards`;
  return [verdict(row), shards, row.index && `index ${visible(row.index)}`].filter(Boolean).join(" · ");
}

/** cellLines returns a tip's lines about a cell: its rates, throttled writes, and how much of it was read. */
export function cellLines(p: Picture, line: Line, column: number): string[] {
  const { scale } = p;
  const covered = scale.covered(column);
  if (covered <= 0) return ["No data"];
  const [units, error] = [line.row.units[column] ?? 0, line.row.error[column] ?? 0];
  const top = line.row.heaviest[column] ?? 0;
  const lines = [
    `Maximum ${wcu(top)} on one partition key · ${percent(top / p.heat.partition_wcu)} of its limit`,
    `Mean ${wcu(scale.rate(units, column))}${error > 0 ? ` ±${figure(scale.rate(error, column))} (upper bound)` : ""}`,
  ];
  const throttled = line.throttled?.[column] ?? 0;
  if (throttled > 0) lines.push(`${figure(throttled)} writes throttled`);
  if (covered < 1) lines.push(`Data for ${percent(covered)} of this column`);
  return lines;
}
