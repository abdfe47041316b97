import { fileSpan, inFile } from "./api";

// The URL fragment has the user's settings: #/?range=1h&filter=viral or #/key?type=counter&name=a.

/** address parses the URL fragment. */
export function address(): { path: string; query: URLSearchParams } {
  const [path = "", query = ""] = (location.hash.slice(1) || "/").split(/\?(.*)/s);
  return { path, query: new URLSearchParams(query) };
}

export type Changes = Record<string, string | string[]>;

function changed(changes: Changes): string {
  const { path, query } = address();
  for (const [name, value] of Object.entries(changes)) {
    if (typeof value === "string" && value !== "") query.set(name, value);
    else query.delete(name);
    if (Array.isArray(value)) for (const v of value) query.append(name, v);
  }
  return "#" + path + (query.size ? "?" + query : "");
}

/** go changes parameters of the address and adds an entry to the browser's history. "" removes a parameter. */
export function go(changes: Changes): void {
  location.hash = changed(changes);
}

/** note changes parameters of the address without a history entry and without a hashchange event. */
export function note(changes: Changes): void {
  history.replaceState(null, "", changed(changes));
}

interface Range {
  text: string;
  seconds: number;
}

/** ranges are the relative time ranges. */
export const ranges: Record<string, Range> = {
  "15m": { text: "15 min", seconds: 900 },
  "1h": { text: "1 h", seconds: 3600 },
  "6h": { text: "6 h", seconds: 6 * 3600 },
  "24h": { text: "24 h", seconds: 24 * 3600 },
};

/** Time is the time range shown: either a relative range, or from and to in RFC 3339. An empty to means now. */
export interface Time {
  range: string; // "" if from is set
  from: string;
  to: string;
}

/** chosenTime reads the time range from the address. A file has only one. */
export function chosenTime(): Time {
  const span = fileSpan();
  if (span) return { range: "", from: span.from, to: span.to };
  const { query } = address();
  const valid = (name: string) => (Number.isNaN(Date.parse(query.get(name) ?? "")) ? "" : new Date(query.get(name)!).toISOString());
  const [from, to] = [valid("from"), valid("to")];
  if (from) return { range: "", from, to };
  const range = query.get("range") ?? "";
  return { range: ranges[range] ? range : "15m", from: "", to: "" };
}

/** asked returns a time range's parameters for a call. The default range has none: the server's clock decides. */
export function asked(time: Time): Record<string, string> {
  if (time.from) return { from: time.from, ...(time.to ? { to: time.to } : {}) };
  return time.range === "15m" ? {} : { from: new Date(Date.now() - ranges[time.range]!.seconds * 1000).toISOString() };
}

/** ended reports whether a time range has ended, so that its data can't change. */
export function ended(time: Time): boolean {
  return time.range === "" && time.to !== "" && Date.parse(time.to) < Date.now() - 120_000;
}

const kept = ["range", "from", "to"]; // parameters that links keep

/** link returns the address that a row opens: the key's page, or the map filtered by a range's prefix; "" for none. */
export function link(row: { key: string; keys?: number; index?: string; type?: string; name?: string }): string {
  const { query } = address();
  const base = row.type && row.type !== "other" && row.name !== undefined;
  const range = (row.keys ?? 1) > 1;
  if (range && (inFile || row.key === "")) return "";
  const what = new URLSearchParams(range ? { filter: row.key } : base ? { type: row.type!, name: row.name! } : { key: row.key });
  if (row.index && !what.has("type")) what.set("index", row.index);
  for (const name of kept) if (query.has(name)) what.set(name, query.get(name)!);
  return (range ? "#/?" : "#/key?") + what;
}
