// Users write keys and names. The page shows them as plain text: they can't add markup or reorder other text.

// unseen matches characters without a glyph, and those that change the direction of text: control and
// format characters (bidi marks among them), line separators, lone surrogates, unassigned code points.
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** visible replaces invisible characters by escapes, such as \u{202e}. */
export function visible(text: string): string {
  return text.replace(unseen, (c) => `\\u{${c.codePointAt(0)!.toString(16).padStart(2, "0")}}`);
}

/** cut replaces the middle of a text that has more than n characters by an ellipsis. It keeps as much of the end, where names differ, as of the start. */
export function cut(text: string, n: number): string {
  const all = [...text];
  if (all.length <= n) return text;
  const head = Math.ceil(Math.max(1, n - 1) / 2);
  const tail = Math.max(0, n - 1 - head);
  return all.slice(0, head).join("") + "…" + all.slice(all.length - tail).join("");
}

/** quoted quotes a text as one POSIX shell word. A text with invisible characters needs bash or zsh. */
export function quoted(text: string): string {
  if (/^[\w/.,:=@%+#-]+$/.test(text) && !text.startsWith("#")) return text;
  if (text.search(unseen) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(unseen, (c) => {
    const code = c.codePointAt(0)!;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `$'${escaped}'`;
}

/** figure formats a number, with at most three significant digits below 100. */
export function figure(n: number): string {
  const digits = Math.abs(n) >= 100 || Number.isInteger(n) ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return n.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** wcu formats a write rate in WCU/s. */
export function wcu(n: number): string {
  return `${figure(n)} WCU/s`;
}

/** count formats a number with its noun: 1 write shard, 4 write shards. */
export function count(n: number, thing: string): string {
  return `${n.toLocaleString("en-US")} ${thing}${n === 1 ? "" : "s"}`;
}

/** percent formats a share. Only exactly 0 is formatted as 0%. */
export function percent(share: number): string {
  const p = share * 100;
  if (p > 0 && p < 0.1) return "< 0.1%";
  return `${p.toLocaleString("en-US", { maximumFractionDigits: p < 10 ? 1 : 0 })}%`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** clock formats a time in the browser's time zone: with seconds in spans up to an hour, with the day above 12 hours. */
export function clock(ms: number, span = 0): string {
  const t = new Date(ms);
  const minutes = `${two(t.getHours())}:${two(t.getMinutes())}`;
  if (span > 12 * 3600e3) return `${two(t.getMonth() + 1)}-${two(t.getDate())} ${minutes}`;
  return span > 3600e3 ? minutes : `${minutes}:${two(t.getSeconds())}`;
}

/** zone returns the browser's UTC offset at a time, such as UTC+05:30. */
export function zone(ms: number): string {
  const east = -new Date(ms).getTimezoneOffset();
  const away = Math.abs(east);
  return east === 0 ? "UTC" : `UTC${east < 0 ? "−" : "+"}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

/** moment formats a time with its date, in UTC. */
export function moment(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

/** hovered formats a time in the browser's time zone and in UTC. */
export function hovered(ms: number, span = 0): string {
  return `${clock(ms, span)} · ${moment(new Date(ms).toISOString())}`;
}

/** ago formats the age of a time, such as 5 min ago. */
export function ago(text: string, now = Date.now()): string {
  const s = (now - Date.parse(text)) / 1000;
  if (!Number.isFinite(s)) return "at an unknown time";
  if (s < 1) return "just now";
  if (s < 120) return `${Math.round(s)} s ago`;
  if (s < 7200) return `${Math.round(s / 60)} min ago`;
  return `${Math.round(s / 3600)} h ago`;
}

const unit: Record<string, number> = { h: 3600e3, m: 60e3, s: 1e3, ms: 1 };

/** duration parses a Go duration, such as 1m30s, and returns milliseconds. */
export function duration(text: string): number {
  let ms = 0;
  for (const [, n, u] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) ms += Number(n) * unit[u!]!;
  return ms || 1000;
}
