// Text that others wrote: shown as it is, without acting on what is around it.

// unseen is what has no picture of its own, or changes the order of what is around it:
// control and format characters (bidi marks among them), separators of lines, lone
// surrogates, and what is not assigned.
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** visible writes what can't be seen as an escape, such as \u{202e}. */
export function visible(text: string): string {
  return text.replace(unseen, (c) => `\\u{${c.codePointAt(0)!.toString(16).padStart(2, "0")}}`);
}

/** cut leaves out the middle of a text of more than n characters. */
export function cut(text: string, n: number): string {
  const all = [...text];
  if (all.length <= n) return text;
  const head = Math.ceil((n - 1) * 0.6);
  return all.slice(0, head).join("") + "…" + all.slice(all.length - (n - 1 - head)).join("");
}

/** quoted is a text as one word of a POSIX shell; of bash and zsh where it has what can't be seen. */
export function quoted(text: string): string {
  if (/^[\w/.,:=@%+#-]+$/.test(text) && !text.startsWith("#")) return text;
  if (text.search(unseen) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(unseen, (c) => {
    const code = c.codePointAt(0)!;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `$'${escaped}'`;
}

/** figure writes a number as people read it: three digits that count, at most, below 100. */
export function figure(n: number): string {
  const digits = Math.abs(n) >= 100 || Number.isInteger(n) ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return n.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** percent writes a share; what is not nothing is never written as 0 %. */
export function percent(share: number): string {
  const p = share * 100;
  if (p > 0 && p < 0.1) return "< 0.1 %";
  return `${p.toLocaleString("en-US", { maximumFractionDigits: p < 10 ? 1 : 0 })} %`;
}

/** clock is a time of day in UTC, with the day where the span is long. */
export function clock(ms: number, span = 0): string {
  const text = new Date(ms).toISOString();
  if (span > 12 * 3600e3) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  return text.slice(11, span > 3600e3 ? 16 : 19);
}

/** moment is a time with its day, in UTC. */
export function moment(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
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
