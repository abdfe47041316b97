// Keys and names are written by others. They are shown as text, and can't change the text around them.

// unseen matches characters without a glyph, and those that change the direction of text: control and
// format characters (bidi marks among them), line separators, lone surrogates, unassigned code points.
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** visible writes characters that can't be seen as escapes, such as \u{202e}. */
export function visible(text: string): string {
  return text.replace(unseen, (c) => `\\u{${c.codePointAt(0)!.toString(16).padStart(2, "0")}}`);
}

/** cut shortens a text of more than n characters by leaving out its middle. */
export function cut(text: string, n: number): string {
  const all = [...text];
  if (all.length <= n) return text;
  const head = Math.ceil((n - 1) * 0.6);
  return all.slice(0, head).join("") + "…" + all.slice(all.length - (n - 1 - head)).join("");
}

/** quoted is a text as one word of a POSIX shell, or of bash and zsh if it has characters that can't be seen. */
export function quoted(text: string): string {
  if (/^[\w/.,:=@%+#-]+$/.test(text) && !text.startsWith("#")) return text;
  if (text.search(unseen) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(unseen, (c) => {
    const code = c.codePointAt(0)!;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `$'${escaped}'`;
}

/** figure writes a number with at most three significant digits below 100. */
export function figure(n: number): string {
  const digits = Math.abs(n) >= 100 || Number.isInteger(n) ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return n.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** wcu writes a rate of writing. */
export function wcu(n: number): string {
  return `${figure(n)} WCU/s`;
}

/** count writes a number of things: 1 write shard, 4 write shards. */
export function count(n: number, thing: string): string {
  return `${n.toLocaleString("en-US")} ${thing}${n === 1 ? "" : "s"}`;
}

/** percent writes a share; only nothing is written as 0%. */
export function percent(share: number): string {
  const p = share * 100;
  if (p > 0 && p < 0.1) return "< 0.1%";
  return `${p.toLocaleString("en-US", { maximumFractionDigits: p < 10 ? 1 : 0 })}%`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** clock is a time of day in the browser's time zone, with the day if the span is long. */
export function clock(ms: number, span = 0): string {
  const t = new Date(ms);
  const minutes = `${two(t.getHours())}:${two(t.getMinutes())}`;
  if (span > 12 * 3600e3) return `${two(t.getMonth() + 1)}-${two(t.getDate())} ${minutes}`;
  return span > 3600e3 ? minutes : `${minutes}:${two(t.getSeconds())}`;
}

/** zone names the browser's time zone at a time, such as UTC+05:30. */
export function zone(ms: number): string {
  const east = -new Date(ms).getTimezoneOffset();
  const away = Math.abs(east);
  return east === 0 ? "UTC" : `UTC${east < 0 ? "−" : "+"}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

/** moment is a time with its day, in UTC. */
export function moment(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

/** hovered is a time in the browser's time zone, and in UTC. */
export function hovered(ms: number, span = 0): string {
  return `${clock(ms, span)} · ${moment(new Date(ms).toISOString())}`;
}

/** ago is how long ago a time was, roughly. */
export function ago(text: string, now = Date.now()): string {
  const s = (now - Date.parse(text)) / 1000;
  if (!Number.isFinite(s)) return "at an unknown time";
  if (s < 1) return "just now";
  if (s < 120) return `${Math.round(s)} s ago`;
  if (s < 7200) return `${Math.round(s / 60)} min ago`;
  return `${Math.round(s / 3600)} h ago`;
}

const unit: Record<string, number> = { h: 3600e3, m: 60e3, s: 1e3, ms: 1 };

/** duration reads a duration in Go's form, such as 1m30s, into milliseconds. */
export function duration(text: string): number {
  let ms = 0;
  for (const [, n, u] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) ms += Number(n) * unit[u!]!;
  return ms || 1000;
}
