// The page of hotshard report. Its HTML file has all data, so that it makes no request.
import { at, fill, h } from "./dom";
import { findings } from "./findings";
import { legend } from "./legend";
import { HeatMap } from "./map";
import { picture, plain } from "./picture";
import { RowList } from "./rows";
import { count, cut, figure, hovered, moment, percent, visible } from "./text";
import { themed } from "./theme";
import type { Data, Storm } from "./types";

const most = 500; // maximum number of rows in a table

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

function when(text: string): HTMLElement {
  return h("time", { datetime: text, title: hovered(Date.parse(text)) }, moment(text));
}

function storm(s: Storm): (HTMLElement | string)[] {
  return [
    s.kind, s.key === "" ? "–" : h("span", {}, key(s.key), s.keys > 1 ? ` ×${figure(s.keys)}` : "", s.index ? ` · index ${visible(s.index)}` : ""), when(s.from), `${figure((Date.parse(s.to) - Date.parse(s.from)) / 1000)} s`,
    figure(s.write_units_per_second), `${figure(s.low)} – ${figure(s.high)}`, visible(s.advice),
  ];
}

function storms(data: Data): HTMLElement {
  const range = data.read.share < 1 ? "Range (95% interval)" : "Range";
  const head = ["Type", "Key", "Start", "Duration", "WCU/s", range, "Advice"];
  return section("Hot-key events", (data.storms ?? []).length > 0 ? table(head, data.storms!.map(storm), "Hot-key events") : h("p", { class: "quiet" }, "No hot-key events in the records that were read."));
}

function splits(data: Data): HTMLElement {
  const rows = (data.splits ?? []).map((s) => [s.time ? when(s.time) : "unknown", key(s.parent), String(s.children)]);
  return section("Stream shards that split", rows.length > 0 ? table(["Time", "Stream shard", "Children"], rows, "Splits") : h("p", { class: "quiet" }, "None."));
}

function cost(data: Data): HTMLElement {
  const { read, cost } = data;
  const usd = cost.usd.toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
  const calls = Object.entries(cost.calls ?? {}).map(([name, n]) => `${figure(n)} ${visible(name)}`).join(", ");
  return section("Data read, and cost",
    h("p", {}, `${percent(read.share)} of the stream: ${count(read.records, "record")} in ${count(read.slices, "slice")} of ${count(read.stream_shards, "stream shard")}, by ${count(read.calls, "call")}. ${visible(read.note)}`),
    h("p", {}, `${calls ? calls + ": " : ""}about ${usd}. ${visible(cost.note)}`),
    h("p", { class: "quiet" }, `Made ${moment(data.made)} by hotshard ${visible(data.version)}.`));
}

/** heat returns a report's map and its list of keys; undefined if nothing was written. */
function heat(data: Data): { map: HTMLElement; list: HTMLElement; draw(): void } | undefined {
  if (data.heat.total.every((u) => u === 0)) return undefined;
  const [drawn, rows, explained] = [h("div", { class: "map", id: "map" }), h("div", { id: "rows", class: "scroll" }), h("div", {})];
  const zooms = h("div", { class: "picks", role: "group", "aria-label": "Zoom" });
  const partly = (data.heat.covered ?? []).some((c) => c > 0 && c < 1);
  const estimates = partly ? h("p", { class: "quiet hint" }, "In a partly read column, the units are estimates for the whole column. Their error is the upper half of the 95% interval.") : null;
  return {
    map: h("section", { class: "panel wide", "aria-label": "Heat" }, h("div", { class: "head" }, h("h2", {}, "Heat"), zooms), drawn, explained, estimates),
    list: section("Keys", rows),
    draw() {
      const p = picture(data.heat, { ...plain, metric: "mean" }, undefined, { report: true });
      const map = new HeatMap(drawn, {}, undefined, true);
      const list = new RowList(rows, { point: (line) => map.point(line), sort: () => undefined, links: false });
      zooms.append(...([["+", "Zoom in", () => map.narrow(0.5)], ["−", "Zoom out", () => map.narrow(2)], ["Reset zoom", "Reset zoom", () => map.zoomTo(undefined)]] as const)
        .map(([text, name, act]) => h("button", { type: "button", "aria-label": name, onclick: act as EventListener }, text)));
      map.show(p);
      list.show(p);
      legend(explained, p, true);
    },
  };
}

/** report draws the page from the data in its HTML file. */
export function report(): void {
  const data = JSON.parse(at("data").textContent ?? "") as Data;
  themed(at("theme"));
  document.title = `Heat of ${visible(data.table)}`;
  at("where").textContent = [`table ${visible(data.table)}`, visible(data.where), `${moment(data.from)} to ${moment(data.to)}`].filter(Boolean).join(" · ");
  const shown = heat(data);
  fill(at("main"),
    section("Summary", ...(data.summary ?? []).map((s) => h("p", { class: "summary" }, visible(s)))),
    (data.todo ?? []).length > 0 && section("What to do", h("ol", {}, ...data.todo!.slice(0, most).map((t) => h("li", {}, visible(t))))),
    shown?.map ?? section("Heat", h("p", { class: "notice" }, "No heat: nothing was written in the time range that was read.")),
    storms(data), data.throttles && section("Throttled: why?", ...findings(data.throttles, false)), splits(data), shown?.list, cost(data));
  shown?.draw();
  document.documentElement.dataset["ready"] = "yes";
}
