// Made by make console from the Go types. Change those.

/**
 * The types that the console reads.
 */
export interface Page {
  About?: About;
  BoardOutputBody?: BoardOutputBody;
  CounterValue?: CounterValue;
  HotKey?: HotKey;
  HotKeysOutputBody?: HotKeysOutputBody;
  Matrix?: Matrix;
  ShardCount?: ShardCount;
  SignalsAnswer?: SignalsAnswer;
}
export interface About {
  command: string;
  demo?: string;
  file?: FileInfo;
  mode: "local" | "deployment" | "table";
  start: string;
  table?: string;
  version: string;
  where: string;
}
export interface FileInfo {
  coverage: string;
  made: string;
}
export interface BoardOutputBody {
  /**
   * Time of the last fold in the entries, or of the read if they come from the index
   */
  as_of: string;
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  board: string;
  /**
   * The best entries. Equal scores are sorted by time, earlier first, then by player
   */
  entries: PlaceAnswer[];
}
export interface PlaceAnswer {
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  player: string;
  /**
   * 1 is the best
   */
  rank: number;
  /**
   * Below 10^18, above -10^18, with up to 38 digits. More than nine decimal places are rounded to nine, half to even
   */
  score: number;
  /**
   * Time of the score that set the current value
   */
  time: string;
}
export interface CounterValue {
  /**
   * Time of the read; for an eventual value of several write shards, of the last fold
   */
  as_of: string;
  /**
   * As requested
   */
  consistency: "eventual" | "strong";
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  counter: string;
  /**
   * Why there is no value; only for one of several counters
   */
  detail?: string;
  /**
   * The counter's shard count
   */
  shards: number;
  /**
   * The sum of all increments: a whole number, which may have more than 64 bits
   */
  value?: number;
}
export interface HotKey {
  /**
   * How many write shards the key needs, or why more don't help
   */
  advice: string;
  /**
   * End of the last hot window; absent if the key is hot or never was
   */
  cooled_at?: string;
  /**
   * WCU/s of the key's hottest write shard in the newest complete window
   */
  current: number;
  /**
   * Upper bound of the error, in WCU/s: the true rate of recorded writes is at most this much higher
   */
  error: number;
  /**
   * Start of the first window with the key
   */
  first_seen: string;
  /**
   * The index of the partition key; absent for the table's own keys. A board's write shards are in by_rank, those of a group of sessions in by_group
   */
  index?: string;
  /**
   * The partition key; for a base key its hottest write shard's
   */
  key: string;
  /**
   * End of the last window with the key
   */
  last_seen: string;
  /**
   * The key's hash, which metrics and logs show if names are hashed
   */
  metric_hash: string;
  /**
   * The base key's name; for type other the partition key, such as a player's entry on a board
   */
  name: string;
  /**
   * Write units in the key's heaviest second
   */
  peak: number;
  /**
   * The heaviest second
   */
  peak_at: string;
  /**
   * The base key's newest shard count
   */
  shards: number;
  /**
   * The base key's shard count before the first change in this time; equal to shards if it did not change
   */
  shards_before: number;
  /**
   * The current status, from the two newest complete windows and what is known of later ones. saturated: at the partition's limit; hot: near it, or one second reached it, or a writer was throttled and one second took half of it; normal: below that
   */
  status: "hot" | "saturated" | "normal";
  /**
   * The table of the key: items or events for hotshard's own tables, else the table's name
   */
  table: string;
  /**
   * When a throttled writer last raised the shard count; absent if none did
   */
  throttled_at?: string;
  /**
   * The base key's type; other for a key without a base key
   */
  type: "entity" | "counter" | "board" | "sessions" | "limit" | "other";
  /**
   * The worst status in any window
   */
  worst: "hot" | "saturated" | "normal";
  /**
   * WCU/s of the key's hottest window: a measured mean, and a lower bound
   */
  write_units_per_second: number;
}
export interface HotKeysOutputBody {
  /**
   * Hottest first
   */
  keys: HotKey[];
  /**
   * Number of heat items that can't be read. No key has their counts
   */
  unread?: number;
}
export interface Matrix {
  /**
   * End of the newest complete window; absent without windows. Later columns are empty and not covered
   */
  as_of?: string;
  /**
   * The share of each column's time and records that was read: 1 if all was read, even without writes; 0 if nothing was
   */
  covered: number[];
  /**
   * Start of the first column
   */
  from: string;
  /**
   * Lowest WCU/s of a hot key, from the newest window; 0 without windows
   */
  hot_wcu: number;
  /**
   * The table's indexes with writes in this time
   */
  indexes: string[];
  /**
   * A partition's limit in WCU/s, from the newest window; 0 without windows
   */
  partition_wcu: number;
  /**
   * Write units in no row, in each column. rest and the units of all rows add up to total
   */
  rest: number[];
  /**
   * In key order
   */
  rows: HeatRow[];
  /**
   * A column's length, such as 10s or 1m
   */
  step: string;
  /**
   * The table of the keys; absent for hotshard's own tables
   */
  table?: string;
  /**
   * End of the last column
   */
  to: string;
  /**
   * Write units of the table or index, in each column
   */
  total: number[];
}
export interface HeatRow {
  /**
   * Changes of the base key's shard count in this time, oldest first
   */
  changes?: Change[];
  /**
   * End of the last hot window; absent if the key is hot or never was
   */
  cooled_at?: string;
  /**
   * WCU/s of the row's hottest partition key in the newest complete window
   */
  current: number;
  /**
   * Upper bound of the error in each column: the true number is at most units plus error
   */
  error: number[];
  /**
   * The first key of a range
   */
  first?: string;
  /**
   * WCU/s of the row's hottest partition key in each column's heaviest window
   */
  heaviest: number[];
  /**
   * The index of the partition key; absent for the table's own keys
   */
  index?: string;
  /**
   * The partition key; with group=base the stored base key, such as C#page/home; for a range the common prefix of its keys
   */
  key: string;
  /**
   * 1, or the number of known keys in the range
   */
  keys: number;
  /**
   * The last key of a range
   */
  last?: string;
  /**
   * The base key's name, if it has a type
   */
  name?: string;
  /**
   * WCU in a partition key's heaviest second
   */
  peak: number;
  /**
   * The base key's newest shard count, if it has a type
   */
  shards?: number;
  /**
   * The current status, from the two newest complete windows and what is known of later ones. saturated: at the partition's limit; hot: near it, or one second reached it, or a writer was throttled and one second took half of it; normal: below that
   */
  status: "hot" | "saturated" | "normal";
  /**
   * The base key's type; absent for a range and for a key without a base key
   */
  type?: "entity" | "counter" | "board" | "sessions" | "limit";
  /**
   * Write units in each column, a lower bound
   */
  units: number[];
  /**
   * The worst status in any window. No key of a range was hot
   */
  worst: "hot" | "saturated" | "normal";
  /**
   * An unfolded row's partition keys, by time bucket, period and number
   */
  write_shards?: HeatRow[];
  /**
   * WCU/s of the row's hottest partition key in its hottest window: a measured lower bound
   */
  write_units_per_second: number;
}
export interface Change {
  /**
   * The shard count before
   */
  before: number;
  /**
   * What made the change: api, ingest (a writer whose writes were throttled) or hotkeys (the controller)
   */
  by: string;
  /**
   * The shard count from then on
   */
  shards: number;
  /**
   * When the count takes effect: for an entity about 4 s after an increase and 3 minutes after a decrease, for other types at once
   */
  time: string;
  /**
   * The reason, as text
   */
  why: string;
}
export interface ShardCount {
  /**
   * Oldest first; before the first change the count is 1
   */
  history: ShardChange[];
  /**
   * The largest shard count so far
   */
  max_shards: number;
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  name: string;
  /**
   * True if an operator pinned the count: the controller does not change it
   */
  pinned: boolean;
  /**
   * The newest shard count
   */
  shards: number;
  /**
   * The key's type
   */
  type: "counter" | "entity" | "board" | "sessions" | "limit";
}
export interface ShardChange {
  /**
   * What made the change: api, ingest, hotkeys or an operator
   */
  by: string;
  /**
   * The shard count from then on
   */
  shards: number;
  /**
   * When the count takes effect: for an entity about 4 s after an increase and 3 minutes after a decrease, for other types at once
   */
  time: string;
  /**
   * The reason, as text
   */
  why: string;
}
export interface SignalsAnswer {
  from: string;
  keys: ThrottledKey[];
  note?: string;
  source: string;
  step: string;
  /**
   * Throttled writes in each column; null if unknown
   */
  throttled: (number | null)[] | null;
  to: string;
}
export interface ThrottledKey {
  key: string;
  name?: string;
  /**
   * Throttled writes in each column; null if unknown
   */
  throttled: (number | null)[];
  type?: string;
}
