import { duration } from "./text";
import type { HeatRow, Matrix } from "./types";

/** Fresh is a row of a delta: either a full row that replaces the known one, or new numbers of a cold key or range. */
type Fresh = HeatRow | { row: number; key?: undefined; units: number[]; error?: number[]; heaviest?: number[] };

/**
 * applied appends a delta to a known answer, and returns the full answer; undefined if the delta does not fit.
 * With slide, the oldest columns are dropped so that their number stays.
 */
export function applied(known: Matrix, delta: Matrix, slide: boolean): Matrix | undefined {
  const first = (Date.parse(delta.from) - Date.parse(known.from)) / duration(known.step);
  const fits = delta.layout === known.layout && delta.step === known.step && Number.isInteger(first) && first >= 0 && first <= known.total.length;
  if (!fits) return undefined;
  const columns = new Columns(first, delta.total.length, slide ? known.total.length : Infinity);
  const fresh = new Map((delta.rows as Fresh[]).map((row) => [row.row, row]));
  const ones = (heat: Matrix) => heat.covered ?? heat.total.map(() => 1);
  const covered = ones(delta);
  const { delta: _, ...rest } = delta;
  return {
    ...known, ...rest,
    from: new Date(Date.parse(known.from) + columns.dropped * duration(known.step)).toISOString(),
    total: columns.join(known.total, delta.total), rest: columns.join(known.rest, delta.rest), covered: columns.join(ones(known), covered),
    rows: known.rows.map((row, i) => joined(row, fresh.get(i), columns, covered)),
  };
}

/** Columns joins known columns with those of a delta. */
class Columns {
  readonly dropped: number;
  constructor(private readonly first: number, private readonly count: number, most: number) {
    this.dropped = Math.max(0, first + count - most);
  }
  /** join replaces known numbers by fresh ones from the delta's first column on. Missing numbers are zeros. */
  join(known: number[] | undefined, fresh?: number[]): number[] {
    const before = known?.slice(0, this.first) ?? new Array<number>(this.first).fill(0);
    return [...before, ...(fresh ?? new Array<number>(this.count).fill(0))].slice(this.dropped);
  }
}

/** joined returns a known row with its delta applied. A row without new writes has no delta. */
function joined(known: HeatRow | undefined, fresh: Fresh | undefined, columns: Columns, covered: number[]): HeatRow {
  const whole = fresh?.key === undefined ? undefined : fresh;
  const { row: _, ...now } = whole ?? known!;
  const out: HeatRow = {
    ...now, units: columns.join(known?.units, fresh?.units), error: columns.join(known?.error, fresh?.error),
    heaviest: columns.join(known?.heaviest, fresh?.heaviest),
  };
  if (!whole) {
    const newest = covered.lastIndexOf(1);
    if (newest >= 0) out.current = fresh?.heaviest?.[newest] ?? 0;
    out.write_units_per_second = Math.max(...out.heaviest!);
  }
  if (known?.write_shards || whole?.write_shards) out.write_shards = shards(known?.write_shards ?? [], whole?.write_shards ?? [], columns, covered);
  return out;
}

const numeric = new Intl.Collator("en", { numeric: true }); // sorts #2 before #10

/** shards joins write shards by key, in numeric order. */
function shards(known: HeatRow[], fresh: HeatRow[], columns: Columns, covered: number[]): HeatRow[] {
  const byKey = new Map(fresh.map((row) => [row.key, row]));
  const stay = known.map((row) => joined(row, byKey.get(row.key), columns, covered));
  const seen = new Set(known.map((row) => row.key));
  const added = fresh.filter((row) => !seen.has(row.key)).map((row) => joined(undefined, row, columns, covered));
  return added.length === 0 ? stay : [...stay, ...added].sort((a, b) => numeric.compare(a.key, b.key));
}
