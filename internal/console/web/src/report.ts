// The page of hotshard report: everything is in it, and it asks for nothing.
import { at, fill, h } from "./dom";
import { legend } from "./legend";
import { HeatMap } from "./map";
import { RowList } from "./rows";
import { cut, figure, moment, percent, visible } from "./text";
import { themed } from "./theme";
import type { Report, Storm } from "./types";

const most = 500; // lines of one table, at most

function section(title: string, ...body: (HTMLElement | null | false)[]): HTMLElement {
  return h("section", { class: "panel wide", "aria-label": title }, h("h2", {}, title), ...body);
}

function table(head: string[], rows: (HTMLElement | string)[][], name: string): HTMLElement {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    h("table", { class: "facts" }, h("thead", {}, h("tr", {}, ...head.map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ...rows.slice(0, most).map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell)))))),
    rows.length > most && h("p", { class: "quiet" }, `and ${figure(rows.length - most)} more`));
}

function key(text: string): HTMLElement {
  return h("bdi", { class: "key", title: visible(text) }, cut(visible(text), 60));
}

function storm(s: Storm): (HTMLElement | string)[] {
  return [
    s.kind, s.key === "" ? "–" : h("span", {}, key(s.key), s.keys > 1 ? ` ×${figure(s.keys)}` : "", s.index ? ` · index ${visible(s.index)}` : ""), moment(s.from), `${figure((Date.parse(s.to) - Date.parse(s.from)) / 1000)} s`,
    `${figure(s.write_units_per_second)}/s`, `${figure(s.low)} – ${figure(s.high)}`, visible(s.advice),
  ];
}

// report draws the page from the data that is in it.
export function report(): void {
  const data = JSON.parse(at("data").textContent ?? "") as Report;
  themed(at("theme"));
  document.title = `Heat of ${visible(data.table)}`;
  at("where").textContent = [`table ${visible(data.table)}`, visible(data.where), `${moment(data.from)} to ${moment(data.to)}`].join(" · ");

  const drawn = h("div", { class: "map", id: "map" });
  const rows = h("ul", { class: "rows" });
  const partly = (data.heat.covered ?? []).some((c) => c < 1);
  const nothing = data.heat.total.every((u) => u === 0);
  const order = (name: string, value: "heat" | "key") => h("button", { type: "button", "data-order": value, "aria-pressed": String(value === "heat") }, name);
  const orders = h("div", { class: "picks", role: "group", "aria-label": "Order" }, order("Hottest first", "heat"), order("As in the map", "key"));
  const zooms = h("div", { class: "picks", role: "group", "aria-label": "Zoom" });

  fill(at("main"),
    section("In short", ...(data.summary ?? []).map((s) => h("p", { class: "summary" }, visible(s)))),
    (data.todo ?? []).length > 0 && section("What to do", h("ol", {}, ...data.todo!.slice(0, most).map((t) => h("li", {}, visible(t))))),
    h("section", { class: "panel wide", "aria-label": "Heat" }, h("div", { class: "head" }, h("h2", {}, "Heat"), zooms),
      nothing ? h("p", { class: "notice" }, "No heat: nothing was written in what was read of this time.") : drawn, nothing ? null : legend(data.heat, true),
      partly ? h("p", { class: "quiet hint" }, "Where a column was read in part, its units are estimates for the whole of it, and the error is the upper half of the 95 % interval.") : null),
    section("Storms", (data.storms ?? []).length > 0
      ? table(["what", "key", "from", "for", "write units", data.read.share < 1 ? "95 % interval" : "between", "advice"], data.storms!.map(storm), "Storms") : h("p", { class: "quiet" }, "None was found in what was read.")),
    section("Stream shards that split", (data.splits ?? []).length > 0
      ? table(["time", "stream shard", "children"], data.splits!.map((s) => [s.time ? moment(s.time) : "not known", key(s.parent), String(s.children)]), "Splits") : h("p", { class: "quiet" }, "None.")),
    nothing ? null : h("section", { class: "panel wide", "aria-label": "Rows of the map" }, h("div", { class: "head" }, h("h2", {}, "Rows of the map"), orders), rows),
    section("What was read, and what it cost",
      h("p", {}, `${percent(data.read.share)} of the stream: ${figure(data.read.records)} records in ${figure(data.read.slices)} slices of ${figure(data.read.stream_shards)} stream shards, by ${figure(data.read.calls)} calls. ${visible(data.read.note)}`),
      h("p", {}, `${Object.entries(data.cost.calls ?? {}).map(([name, n]) => `${figure(n)} ${visible(name)}`).join(", ")}: about ${data.cost.usd.toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 4 })}. ${visible(data.cost.note)}`),
      h("p", { class: "quiet" }, `Made ${moment(data.made)} by hotshard ${visible(data.version)}.`)));

  if (!nothing) {
    const map = new HeatMap(drawn, {}, true);
    const list = new RowList(rows, (row) => map.point(row), false);
    for (const b of orders.querySelectorAll("button")) {
      b.addEventListener("click", () => {
        list.order = b.dataset["order"] === "key" ? "key" : "heat";
        for (const o of orders.querySelectorAll("button")) o.setAttribute("aria-pressed", String(o === b));
        list.show(data.heat);
      });
    }
    zooms.append(...([["+", "Zoom in", () => map.zoom(0.5)], ["−", "Zoom out", () => map.zoom(2)], ["All", "Show all", () => map.whole()]] as const)
      .map(([text, name, act]) => h("button", { type: "button", "aria-label": name, onclick: act as EventListener }, text)));
    map.show(data.heat);
    list.show(data.heat);
  }
  document.documentElement.dataset["ready"] = "yes";
}
