// What the API answers, as far as the pages use it. Times are RFC 3339 text.

export type Status = "hot" | "saturated" | "warm";

export interface Row {
  key: string; // of a range: the common prefix
  keys: number;
  first?: string;
  last?: string;
  index?: string;
  type?: string;
  name?: string;
  status: Status;
  write_units_per_second: number;
  units: number[]; // write units in the column
  error: number[];
}

export interface Heat {
  from: string;
  to: string;
  step: string;
  partition_wcu: number;
  hot_wcu: number;
  as_of?: string;
  table?: string;
  indexes?: string[]; // that took writes in this time
  rows: Row[];
  rest: number[];
  total: number[];
  covered?: number[]; // share of the column that is known, 0 where nothing was counted
}

export interface HotKey {
  key: string;
  table?: string;
  index?: string;
  type: string;
  name: string;
  status: Status;
  write_units_per_second: number;
  error: number;
  peak: number;
  shards: number;
  first_seen: string;
  last_seen: string;
  advice: string;
}

export interface Shards {
  type: string;
  name: string;
  shards: number;
  max_shards: number;
  pinned: boolean;
  history: { time: string; shards: number; by: string; why: string }[];
}

export interface Counter {
  counter: string;
  value: number | string;
  as_of: string;
  shards: number;
  consistency: string;
}

export interface Board {
  board: string;
  entries: { rank: number; player: string; score: number; time: string }[];
  as_of: string;
}

export interface Reader {
  name: string;
  lag_seconds?: number; // absent where it is not known yet
  given_up: number;
}

export interface About {
  mode: "local" | "deployment" | "table";
  table?: string;
  where: string;
  command: string;
  version: string;
}

export interface Report {
  table: string;
  where: string;
  from: string;
  to: string;
  made: string;
  version: string;
  heat: Heat;
  summary: string[] | null;
  storms: Storm[] | null;
  splits: { time?: string; parent: string; children: number }[] | null;
  todo: string[] | null;
  read: { share: number; records: number; slices: number; stream_shards: number; calls: number; note: string };
  cost: { calls: Record<string, number> | null; usd: number; note: string };
}

export interface Storm {
  kind: string;
  from: string;
  to: string;
  key: string;
  index?: string;
  keys: number;
  write_units_per_second: number;
  low: number;
  high: number;
  advice: string;
}
