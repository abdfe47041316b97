import { fill, h } from "./dom";
import { hot, label, link, mark } from "./heat";
import { cut, figure, visible } from "./text";
import type { Heat, Row } from "./types";

export type Order = "heat" | "key";

/** rowList is the map's rows as links: arrow keys go from one to the next, and point it out on the map. */
export class RowList {
  private heat: Heat | undefined;
  order: Order = "heat";

  /** Without links the rows are focusable, and lead nowhere. */
  constructor(private readonly place: HTMLElement, private readonly point: (row: number | undefined) => void, private readonly links = true) {
    place.addEventListener("keydown", (e) => this.key(e));
    place.addEventListener("focusin", (e) => this.over(e));
    place.addEventListener("focusout", () => this.point(undefined));
    place.addEventListener("pointerover", (e) => this.over(e));
    place.addEventListener("pointerleave", () => this.point(undefined));
  }

  show(heat: Heat): void {
    this.heat = heat;
    const rows = heat.rows.map((row, i) => ({ row, i }));
    if (this.order === "heat") rows.sort((a, b) => b.row.write_units_per_second - a.row.write_units_per_second);
    fill(this.place, ...rows.map(({ row, i }, n) => h("li", {}, this.entry(row, i, n === 0))));
  }

  private entry(row: Row, i: number, first: boolean): HTMLElement {
    const range = row.keys > 1;
    return h("a", { href: this.links ? link(row) : undefined, class: "row", "data-at": `${row.index ?? ""} ${row.key} ${row.keys > 1 ? row.first ?? "" : ""}`, "data-row": String(i), tabindex: first ? "0" : "-1", title: range ? `${cut(visible(row.first ?? ""), 200)} … ${cut(visible(row.last ?? ""), 200)}` : visible(row.key) },
      h("span", { class: "sign " + row.status }, mark[row.status]),
      h("bdi", { class: "key" }, label(row, 64)),
      h("span", { class: "status" }, hot(row) ? row.status : ""),
      h("span", { class: "rate" }, `${figure(row.write_units_per_second)}/s`));
  }

  private over(e: Event): void {
    const row = (e.target as Element).closest<HTMLElement>("[data-row]")?.dataset["row"];
    if (row !== undefined) this.point(Number(row));
  }

  private key(e: KeyboardEvent): void {
    const all = [...this.place.querySelectorAll<HTMLElement>("a.row")];
    const now = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1, PageDown: now + 10, PageUp: now - 10 }[e.key];
    if (to === undefined || !this.heat || now < 0) return;
    const next = all[Math.max(0, Math.min(all.length - 1, to))]!;
    all[now]!.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    e.preventDefault();
  }
}
