// Made by make console from the Go types. Change those.

/**
 * All that the pages read.
 */
export interface Page {
  About?: About;
  BoardOutputBody?: BoardOutputBody;
  CounterValue?: CounterValue;
  Data?: Data;
  HotKey?: HotKey;
  HotKeysOutputBody?: HotKeysOutputBody;
  Matrix?: Matrix;
  Reader?: Reader;
  ShardCount?: ShardCount;
  SignalsAnswer?: SignalsAnswer;
}
export interface About {
  command: string;
  mode: "local" | "deployment" | "table";
  start: string;
  table?: string;
  version: string;
  where: string;
}
export interface BoardOutputBody {
  /**
   * Of the last fold that is in the entries; of the reading where they were read from the index
   */
  as_of: string;
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  board: string;
  /**
   * The first in rank. Of equal scores the earlier is first, then by player
   */
  entries: PlaceAnswer[];
}
export interface PlaceAnswer {
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  player: string;
  /**
   * 1 for the first
   */
  rank: number;
  /**
   * Below 10^18, above -10^18, with up to nine decimal places, all of which are kept
   */
  score: number;
  /**
   * Of the score that made it what it is
   */
  time: string;
}
export interface CounterValue {
  /**
   * When the value was read; for an eventual one of several write shards, the last fold of those but the first
   */
  as_of: string;
  /**
   * As asked for
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
   * The counter's write shards
   */
  shards: number;
  /**
   * The sum of all increments: a whole number, which may have more than 64 bits
   */
  value?: number;
}
export interface Data {
  cost: Cost;
  from: string;
  heat: Matrix;
  made: string;
  read: Read;
  splits: Split[];
  storms: Storm[];
  summary: string[];
  table: string;
  to: string;
  todo: string[];
  version: string;
  where: string;
}
export interface Cost {
  calls: {
    [k: string]: number;
  };
  note: string;
  usd: number;
}
export interface Matrix {
  /**
   * End of the newest complete window; absent without any. Columns after it are empty and not covered
   */
  as_of?: string;
  /**
   * The share of each column's time and records that was read: 1 where all is known, also if nothing was written; 0 where nothing was read
   */
  covered: number[];
  /**
   * The answer has the newest columns only, from from on, and of the layout's rows those of which something is new
   */
  delta?: boolean;
  /**
   * Start of the first column
   */
  from: string;
  /**
   * Write units a second from which on a key is hot, likewise
   */
  hot_wcu: number;
  /**
   * The table's indexes that took writes in this time
   */
  indexes: string[];
  /**
   * Names the rows, for a poll with layout and after
   */
  layout?: string;
  /**
   * Write units a second that a partition takes, as of the newest window; 0 without any
   */
  partition_wcu: number;
  /**
   * What no row has, one number a column: rest and the units of all rows add up to total
   */
  rest: number[];
  /**
   * In the order of keys
   */
  rows: HeatRow[];
  /**
   * A column's length, such as 10s or 1m
   */
  step: string;
  /**
   * Whose keys these are, if not those of hotshard's own table
   */
  table?: string;
  /**
   * End of the last column
   */
  to: string;
  /**
   * Write units of the table, or of the index, one number a column
   */
  total: number[];
}
export interface HeatRow {
  /**
   * Changes of the base key's shard count in the time, oldest first
   */
  changes?: Change[];
  /**
   * End of the last hot window, if it was hot and is not now
   */
  cooled_at?: string;
  /**
   * The same in the newest complete window
   */
  current: number;
  /**
   * It got at most so many more, one number a column
   */
  error: number[];
  /**
   * The first key of a range
   */
  first?: string;
  /**
   * WCU/s of its hottest partition key in the heaviest window of the column, one number a column
   */
  heaviest: number[];
  /**
   * The index whose partition key it is; none for the table's own
   */
  index?: string;
  /**
   * The partition key, or with group=base the base key as it is stored, such as C#page/home; of a range the prefix that its keys have in common
   */
  key: string;
  /**
   * 1, or how many keys the range has of which something is known
   */
  keys: number;
  /**
   * Its last one
   */
  last?: string;
  /**
   * The base key's, likewise
   */
  name?: string;
  /**
   * WCU in the heaviest second of a partition key
   */
  peak: number;
  /**
   * Of a delta: the row's place in the full answer. A row without a key has the numbers of these columns only, and else stays as it was; error and heaviest are absent if they are 0
   */
  row?: number;
  /**
   * The base key's newest shard count, likewise
   */
  shards?: number;
  /**
   * The verdict now, by the two newest complete windows and what is known of later ones: saturated at the partition's limit, hot near it or if a second reached it or if a writer was throttled, else warm
   */
  status: "hot" | "saturated" | "warm";
  /**
   * The base key's, if it is one key and has one
   */
  type?: "entity" | "counter" | "board" | "sessions" | "limit";
  /**
   * Write units, one number a column: it got at least so many
   */
  units: number[];
  /**
   * The worst verdict on any window of the time. A range has no key that was hot
   */
  worst: "hot" | "saturated" | "warm";
  /**
   * Of a row that is unfolded: its partition keys, by time bucket and period and then by number
   */
  write_shards?: HeatRow[];
  /**
   * WCU/s of its hottest partition key in its hottest window: a measured lower bound
   */
  write_units_per_second: number;
}
export interface Change {
  /**
   * The shard count until then
   */
  before: number;
  /**
   * Who changed it: api, ingest (a writer, whose writes were throttled), hotkeys (the controller)
   */
  by: string;
  /**
   * The shard count from then on
   */
  shards: number;
  /**
   * When the count takes effect: for an entity a few seconds after the change was made, for other types at once
   */
  time: string;
  /**
   * The reason, in words
   */
  why: string;
}
export interface Read {
  calls: number;
  note: string;
  records: number;
  share: number;
  slices: number;
  stream_shards: number;
}
export interface Split {
  children: number;
  parent: string;
  time?: string;
}
export interface Storm {
  advice: string;
  from: string;
  high: number;
  index?: string;
  key: string;
  keys: number;
  kind: string;
  low: number;
  to: string;
  write_units_per_second: number;
}
export interface HotKey {
  /**
   * How many write shards it needs, or why more of them don't help
   */
  advice: string;
  /**
   * End of its last hot window, if it was hot and is not now
   */
  cooled_at?: string;
  /**
   * WCU/s of its hottest write shard in the newest complete window
   */
  current: number;
  /**
   * The true rate of recorded writes is at most this much higher
   */
  error: number;
  /**
   * The start of the first window that has it
   */
  first_seen: string;
  /**
   * The index whose partition key it is; none for the table's own. A board's write shards are in by_rank, for each of its periods, and those of a group of sessions in by_group
   */
  index?: string;
  /**
   * The partition key: of a base key that of its hottest write shard
   */
  key: string;
  /**
   * The end of the last one
   */
  last_seen: string;
  /**
   * What metrics and logs call it where names are hashed
   */
  metric_hash: string;
  /**
   * The base key's; for type other, as a player's entry on a board or a single session, the partition key
   */
  name: string;
  /**
   * Write units in its heaviest second
   */
  peak: number;
  /**
   * That second
   */
  peak_at: string;
  /**
   * The base key's newest shard count
   */
  shards: number;
  /**
   * Its shard count before the first change in the time; the same as shards without a change
   */
  shards_before: number;
  /**
   * The verdict now, by the two newest complete windows and what is known of later ones. saturated: at its partition's limit; hot: near it, or a second reached it, or a writer was throttled; warm: below that
   */
  status: "hot" | "saturated" | "warm";
  /**
   * Whose key it is: items or events of hotshard's own tables, else the table's name
   */
  table: string;
  /**
   * When a writer had it grow last in the time, which a writer does when its writes are throttled
   */
  throttled_at?: string;
  /**
   * The base key's; other for a key that is none
   */
  type: "entity" | "counter" | "board" | "sessions" | "limit" | "other";
  /**
   * The worst verdict of the time
   */
  worst: "hot" | "saturated" | "warm";
  /**
   * WCU/s of the key's hottest window: a measured mean, and a lower bound
   */
  write_units_per_second: number;
}
export interface HotKeysOutputBody {
  /**
   * The hottest first
   */
  keys: HotKey[];
  /**
   * Heat items of the time that another release stored in a form that this one does not know: what these counted is in no key
   */
  unread?: number;
}
export interface Reader {
  given_up: number;
  lag_seconds?: number;
  name: string;
}
export interface ShardCount {
  /**
   * Oldest first; before the first change the count is 1
   */
  history: ShardChange[];
  /**
   * The largest it ever was
   */
  max_shards: number;
  /**
   * UTF-8 text of 1 to 512 bytes without control characters
   */
  name: string;
  /**
   * Set by a person: the controller leaves it alone
   */
  pinned: boolean;
  /**
   * The newest shard count
   */
  shards: number;
  /**
   * What the key is a name of
   */
  type: "counter" | "entity" | "board" | "sessions" | "limit";
}
export interface ShardChange {
  /**
   * Who changed it: api, ingest, hotkeys or a person
   */
  by: string;
  /**
   * The shard count from then on
   */
  shards: number;
  /**
   * When the count takes effect: for an entity a few seconds after the change was made, for other types at once
   */
  time: string;
  /**
   * The reason, in words
   */
  why: string;
}
export interface SignalsAnswer {
  from: string;
  keys: ThrottledKey[];
  note?: string;
  source: string;
  splits: SplitSignal[];
  step: string;
  /**
   * Throttled writes in each column; null where that is unknown
   */
  throttled: (number | null)[] | null;
  to: string;
}
export interface ThrottledKey {
  key: string;
  name?: string;
  /**
   * Throttled writes in each column; null where that is unknown
   */
  throttled: (number | null)[];
  type?: string;
}
export interface SplitSignal {
  text: string;
  time: string;
  what: string;
}
