import { h } from "./dom";
import type { Line, Picture } from "./picture";
import { clock, figure, hovered, visible, wcu } from "./text";
import { cellLines, state, title } from "./words";

/** above is the line number that stands for the strip and the markers above the map. */
export const above = -1;

/** Place is a cell of the map. */
export interface Place {
  line: number; // or above
  column: number; // -1 for the line's name beside the map
}

/** Said is the text of a tip. */
interface Said {
  title: string;
  under: string[];
  lines: string[];
}

/** said returns the tip's text for a place. near are lines about the events close to it. */
function said(p: Picture, at: Place, near: string[]): Said {
  const time = at.column < 0 ? [] : [hovered(p.scale.start(at.column), p.scale.span)];
  if (at.line === above) return { title: "All keys", under: time, lines: [...allLines(p, at.column), ...near] };
  const { row } = p.lines[at.line]!;
  const range = row.keys > 1 ? [`${visible(row.first ?? "")} … ${visible(row.last ?? "")}`] : [];
  return { title: title(row), under: [...range, state(row), ...time], lines: at.column < 0 ? hottestLines(p, p.lines[at.line]!) : cellLines(p, p.lines[at.line]!, at.column) };
}

/** allLines returns the lines with the sums over all keys in a column. */
function allLines(p: Picture, column: number): string[] {
  const { heat, scale } = p;
  if (column < 0) return [];
  if (scale.covered(column) <= 0) return ["No data"];
  const throttled = p.throttled?.[column];
  return [
    `${wcu(scale.rate(heat.total[column] ?? 0, column))}, of which other keys ${wcu(scale.rate(heat.rest[column] ?? 0, column))}`,
    ...(throttled === null || throttled === undefined ? [] : [`${figure(throttled / (scale.step / 1000))} throttled writes/s`]),
  ];
}

/** hottestLines returns the lines about the brightest cell of a line. */
function hottestLines(p: Picture, line: Line): string[] {
  const list = line.row.heaviest;
  const best = list.reduce((top, n, i) => (n > list[top]! ? i : top), 0);
  return [`Hottest at ${clock(p.scale.start(best), p.scale.span)}:`, ...cellLines(p, line, best)];
}

/** Tip is the box that describes the cell under the pointer or the keyboard's cursor. */
export class Tip {
  readonly box = h("div", { class: "tip", hidden: true });
  readonly spoken = h("div", { class: "unseen", "aria-live": "polite" });
  private held: { id: string; time: number } | undefined;

  get open(): boolean {
    return !this.box.hidden;
  }

  close(): void {
    this.box.hidden = true;
    this.held = undefined;
  }

  /** show opens the tip of a place. With aloud, screen readers read it. */
  show(p: Picture, at: Place, near: string[], aloud: boolean): void {
    const text = said(p, at, near);
    this.box.replaceChildren(h("div", { class: "key" }, text.title), ...text.under.map((l) => h("div", { class: "quiet" }, l)), ...text.lines.map((l) => h("div", {}, l)));
    this.box.hidden = false;
    this.held = { id: at.line === above ? "" : p.lines[at.line]!.id, time: at.column < 0 ? -1 : p.scale.middle(at.column) };
    if (aloud) this.spoken.textContent = [text.title, ...text.under, ...text.lines].join(", ");
  }

  /** put moves the box below or above a line's edges, within the map. */
  put(x: number, top: number, bottom: number): void {
    const place = this.box.parentElement!;
    const [w, high] = [this.box.offsetWidth, this.box.offsetHeight];
    const left = Math.max(4, Math.min(x + 14, place.clientWidth - w - 4));
    const fits = bottom + 8 + high <= place.clientHeight || top - high - 8 < 0;
    Object.assign(this.box.style, { left: `${left}px`, top: `${fits ? bottom + 8 : top - high - 8}px` });
  }

  /** moved returns the place of the open tip's key and time in another picture; undefined if that has neither. */
  moved(p: Picture): Place | undefined {
    if (!this.held) return undefined;
    const line = this.held.id === "" ? above : p.lines.findIndex((l) => l.id === this.held!.id);
    const column = this.held.time < 0 ? -1 : Math.floor((this.held.time - p.scale.from) / p.scale.step);
    return (line < 0 && this.held.id !== "") || column >= p.scale.columns || (column < 0 && this.held.time >= 0) ? undefined : { line, column };
  }
}
