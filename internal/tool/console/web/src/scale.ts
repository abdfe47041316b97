import { duration } from "./text";
import type { Matrix } from "./types";

type Point = [number, number | null, number];

/** Scale is the time axis of a matrix. It converts write units to rates. */
export class Scale {
  readonly from: number;
  readonly to: number;
  readonly step: number; // ms
  readonly columns: number;

  constructor(readonly heat: Matrix) {
    this.from = Date.parse(heat.from);
    this.step = duration(heat.step);
    this.columns = heat.total.length;
    this.to = this.from + this.columns * this.step;
  }

  get span(): number {
    return this.to - this.from;
  }

  start(column: number): number {
    return this.from + column * this.step;
  }

  middle(column: number): number {
    return this.start(column) + this.step / 2;
  }

  /** covered returns the share of a column that was read. */
  covered(column: number): number {
    return this.heat.covered?.[column] ?? 1;
  }

  /** rate converts a column's units to units per second of the time that was read; 0 if nothing was read. */
  rate(units: number, column: number): number {
    const covered = this.covered(column);
    return covered > 0 ? units / covered / (this.step / 1000) : 0;
  }

  /** series returns a step line's points: time, value, and the column's start. Nulls and unread columns are gaps. */
  series(value: (column: number) => number | null): Point[] {
    return Array.from({ length: this.columns }, (_, i): Point[] => {
      const [start, v] = [this.start(i), this.covered(i) > 0 ? value(i) : null];
      return [[start, v, start], [start + this.step - 1, v, start]];
    }).flat();
  }

  /** known returns the share of the time up to the newest complete window that was read. */
  known(): number {
    const upTo = this.heat.as_of ? Math.floor((Date.parse(this.heat.as_of) - this.from) / this.step) : this.columns;
    const last = Math.min(this.columns, upTo);
    let sum = 0;
    for (let i = 0; i < last; i++) sum += this.covered(i);
    return sum / Math.max(1, last);
  }
}

// The Inferno colour map, in which lightness rises evenly. Its lowest stop is lighter than the colour of an idle cell.
const stops = [[20, 17, 42], [40, 11, 84], [82, 13, 108], [124, 29, 109], [165, 44, 96], [204, 66, 72], [237, 105, 37], [251, 155, 6], [247, 209, 61], [252, 255, 164]] as const;

/** ground is the colour of an idle cell. */
export const ground = [10, 10, 18] as const;

/** place returns the position of a share of the limit on the ramp, 0 to 1. It is the root, so that 1% is visible. */
export function place(share: number): number {
  return Math.sqrt(Math.min(1, Math.max(0, share)));
}

/** paint returns the colour of a share of the limit. */
export function paint(share: number): readonly [number, number, number] {
  if (share <= 0) return ground;
  const x = place(share) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(x));
  const [a, b] = [stops[i]!, stops[i + 1]!];
  const mix = (k: 0 | 1 | 2) => Math.round(a[k] + (b[k] - a[k]) * (x - i));
  return [mix(0), mix(1), mix(2)];
}

/** part returns the columns from first to last (exclusive) of a matrix. */
function part(heat: Matrix, first: number, last: number): Matrix {
  const cut = <T>(list: T[]) => list.slice(first, last);
  const rows = (list: Matrix["rows"]): Matrix["rows"] => list.map((row) => ({
    ...row, units: cut(row.units), error: cut(row.error),
    heaviest: cut(row.heaviest), ...(row.write_shards ? { write_shards: rows(row.write_shards) } : {}),
  }));
  const from = Date.parse(heat.from) + first * duration(heat.step);
  return {
    ...heat, from: new Date(from).toISOString(), to: new Date(from + (last - first) * duration(heat.step)).toISOString(),
    total: cut(heat.total), rest: cut(heat.rest), rows: rows(heat.rows), ...(heat.covered ? { covered: cut(heat.covered) } : {}),
  };
}

const shortest = 12; // columns

/** crop removes the unread columns at the start. It keeps at least the 12 newest columns. */
export function crop(heat: Matrix): Matrix {
  const first = Math.min((heat.covered?.findIndex((c) => c > 0) ?? 0) - 1, heat.total.length - shortest);
  return first > 0 ? part(heat, first, heat.total.length) : heat;
}
