import { link } from "./address";
import { copier, fill, h } from "./dom";
import type { Line, Picture } from "./picture";
import { cut, figure, visible } from "./text";
import { before, growth, hot, label, lineLabel, sign, title, verdict } from "./words";

interface Column {
  id: string;
  text: string;
  why: string;
  value(line: Line): number | string; // to sort by
  cell(line: Line): string;
}

const throttledSum = (line: Line) => (line.throttled ?? []).reduce<number>((a, b) => a + (b ?? 0), 0);
const rank = (line: Line) => (hot(line.row) ? 1e12 : 0) + line.row.write_units_per_second;

const state: Column = { id: "status", text: "Status", why: "Current status, from the newest complete windows", value: rank, cell: (l) => (verdict(l.row) === "normal" && l.row.keys > 1 ? "" : verdict(l.row)) };
const now: Column = { id: "now", text: "Now", why: "WCU/s of the hottest partition key in the newest complete window", value: (l) => l.row.current, cell: (l) => figure(l.row.current) };
const peak: Column = { id: "peak", text: "Hottest window", why: "WCU/s of the hottest partition key in its hottest window", value: (l) => l.row.write_units_per_second, cell: (l) => figure(l.row.write_units_per_second) };
const shards: Column = { id: "shards", text: "Write shards", why: "Shard count, with the previous count if it changed in the time shown", value: (l) => l.row.shards ?? 0, cell: (l) => (l.parent ? "" : growth(l.row.shards, before(l.row))) };
const throttled: Column = { id: "throttled", text: "Throttled", why: "Writes that were throttled in the time shown", value: throttledSum, cell: (l) => (l.throttled ? figure(throttledSum(l)) : "") };

/** List has the page's handlers for the user's actions on the list of keys. */
export interface List {
  point(line: number | undefined): void;
  unfold?(line: Line): void;
  sort(sort: string): void;
}

/** RowList shows the map's rows as a table. Up and Down move between rows, Right and Left unfold and fold. */
export class RowList {
  private picture: Picture | undefined;
  private current = ""; // id of the row in the tab order
  private width = 0;

  /** sort is a column's id, with a - before it for descending order. "key" is the map's order. */
  constructor(private readonly place: HTMLElement, private readonly on: List, private sort = "-status") {
    place.addEventListener("keydown", (e) => this.key(e));
    place.addEventListener("focusin", (e) => this.over(e));
    place.addEventListener("focusout", () => on.point(undefined));
    place.addEventListener("pointerover", (e) => this.over(e));
    place.addEventListener("pointerleave", () => on.point(undefined));
    new ResizeObserver(() => this.resized()).observe(place);
  }

  show(p: Picture): void {
    this.picture = p;
    const columns = this.columns(p);
    const lines = this.sorted(p, columns);
    if (!lines.some((l) => l.id === this.current)) this.current = lines[0]?.id ?? "";
    fill(this.place, h("table", { role: "treegrid", "aria-label": "Keys", class: "rows" },
      h("thead", {}, h("tr", {}, this.header("key", "Key", "The map's order"), ...columns.map((c) => this.header(c.id, c.text, c.why)))),
      h("tbody", {}, ...lines.map((line) => this.entry(line, p.lines.indexOf(line), columns)))));
    fit(this.place);
  }

  private resized(): void {
    if (this.width === this.place.clientWidth) return;
    this.width = this.place.clientWidth;
    if (this.picture) this.show(this.picture);
  }

  order(sort: string): void {
    this.sort = sort;
    if (this.picture) this.show(this.picture);
  }

  private columns(p: Picture): Column[] {
    const some = (has: (line: Line) => boolean) => p.lines.some(has);
    return [state, now, peak, ...(some((l) => l.row.shards !== undefined) ? [shards] : []), ...(some((l) => l.throttled !== undefined) ? [throttled] : [])];
  }

  /** sorted returns the lines in the chosen order. Write shards stay in numeric order below their key. */
  private sorted(p: Picture, columns: Column[]): Line[] {
    const by = columns.find((c) => c.id === this.sort.replace("-", ""));
    const groups: Line[][] = [];
    for (const line of p.lines) line.parent ? groups.at(-1)!.push(line) : groups.push([line]);
    if (this.sort === "-key") groups.reverse();
    const down = this.sort.startsWith("-") ? -1 : 1;
    if (by) groups.sort(([a], [b]) => (by.value(a!) < by.value(b!) ? -down : by.value(a!) > by.value(b!) ? down : 0));
    return groups.flat();
  }

  private header(id: string, text: string, why: string): HTMLElement {
    const chosen = this.sort.replace("-", "") === id;
    const falls = this.sort.startsWith("-");
    const next = chosen ? (falls ? id : "-" + id) : id === "key" ? id : "-" + id;
    const choose = () => {
      this.order(next);
      this.on.sort(next);
    };
    return h("th", { scope: "col", class: `c-${id}`, "aria-sort": chosen ? (falls ? "descending" : "ascending") : "none" },
      h("button", { type: "button", class: "sorts", title: why, "data-sort": id, onclick: choose as EventListener }, text, h("span", { "aria-hidden": "true" }, chosen ? (falls ? " ↓" : " ↑") : "")));
  }

  private entry(line: Line, i: number, columns: Column[]): HTMLElement {
    const { row, parent } = line;
    const mark = sign(row);
    const name = h("bdi", { class: "key" }, parent ? lineLabel(line, 64) : label(row, 64));
    const to = line.more ? "" : link(parent ?? row);
    const full = row.keys > 1 ? `${cut(visible(row.first ?? ""), 200)} … ${cut(visible(row.last ?? ""), 200)}` : visible(row.key);
    return h("tr", {
      class: `row${parent ? " shard" : ""}`, "data-at": line.id, "data-row": String(i), tabindex: line.id === this.current ? "0" : "-1",
      "aria-level": parent ? "2" : "1", "aria-expanded": line.unfolds ? String(line.open) : undefined,
    },
    h("td", { class: "name", title: full }, h("span", { class: "cell" },
      this.disclosure(line), h("span", { class: mark.class, "aria-hidden": "true" }, mark.text),
      to ? h("a", { href: to, tabindex: "-1" }, name) : name,
      row.keys === 1 && !line.more && copier(() => row.key, `the key ${title(row)}`))),
    ...columns.map((c) => h("td", { class: `c-${c.id}` }, c.cell(line))));
  }

  private disclosure(line: Line): HTMLElement {
    if (!line.unfolds || !this.on.unfold) return h("span", { class: "fold" });
    const name = line.more ? `Unfold ${title(line.row)}` : `${line.open ? "Fold" : "Unfold"} the write shards of ${title(line.row)}`;
    return h("button", { type: "button", class: "fold", tabindex: "-1", "aria-label": name, onclick: (() => this.on.unfold!(line)) as EventListener }, line.open ? "▼" : "▶");
  }

  private over(e: globalThis.Event): void {
    const row = (e.target as Element).closest<HTMLElement>("[data-row]")?.dataset["row"];
    if (row !== undefined) this.on.point(Number(row));
  }

  private key(e: KeyboardEvent): void {
    const row = e.target as HTMLElement;
    if (!row.matches("tr.row") || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = [...this.place.querySelectorAll<HTMLElement>("tr.row")];
    const now = all.indexOf(row);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1, PageDown: now + 10, PageUp: now - 10 }[e.key];
    if (to !== undefined) this.focus(all[Math.max(0, Math.min(all.length - 1, to))]!, all);
    else if (e.key === "Enter") row.querySelector<HTMLElement>("a")?.click();
    else if (!this.toggle(e.key, this.picture!.lines[Number(row.dataset["row"])]!, all)) return;
    e.preventDefault();
  }

  /** toggle unfolds or folds a line, or moves from a write shard to its key. It returns false for other keyboard keys. */
  private toggle(key: string, line: Line, all: HTMLElement[]): boolean {
    if (key === "ArrowLeft" && line.parent) {
      this.focus(all.find((row) => line.id.startsWith(row.dataset["at"] + "/"))!, all);
      return true;
    }
    const wanted = key === " " ? !line.open : key === "ArrowRight" ? true : key === "ArrowLeft" ? false : undefined;
    if (wanted === undefined || !line.unfolds || wanted === line.open) return wanted !== undefined;
    this.on.unfold?.(line);
    return true;
  }

  private focus(row: HTMLElement, all: HTMLElement[]): void {
    for (const other of all) other.tabIndex = -1;
    row.tabIndex = 0;
    this.current = row.dataset["at"]!;
    row.focus();
  }
}

/** fit cuts the middle of names that are wider than their place. The style sheet would cut their ends. */
function fit(place: HTMLElement): void {
  const names = [...place.querySelectorAll<HTMLElement>(".cell > a, .cell > .key")].map((box) => ({ box, share: box.clientWidth / Math.max(1, box.scrollWidth) }));
  for (const { box, share } of names) {
    const name = box.querySelector("bdi") ?? box;
    if (box.clientWidth > 0 && share < 1) name.textContent = cut(name.textContent ?? "", Math.floor(share * [...(name.textContent ?? "")].length));
  }
}
