// The console: a heat map with panels beside it, and a page for each key.
import { get, program, remedy } from "./api";
import { at, command, fill, h } from "./dom";
import { address, crop, link, Scale } from "./heat";
import { KeyPage } from "./key";
import { legend } from "./legend";
import { HeatMap } from "./map";
import { board, counter, hotKeys, pipeline, type Panel } from "./panels";
import { report } from "./report";
import { RowList, type Order } from "./rows";
import { ago, percent, quoted, visible } from "./text";
import { themed } from "./theme";
import type { About, Heat, Row, Shards } from "./types";

const ranges: Record<string, { text: string; seconds: number; every: number }> = {
  "15m": { text: "15 min", seconds: 900, every: 3 },
  "1h": { text: "1 h", seconds: 3600, every: 5 },
  "6h": { text: "6 h", seconds: 6 * 3600, every: 10 },
  "24h": { text: "24 h", seconds: 24 * 3600, every: 30 },
};

/** View is a page within the page. */
interface View {
  element: HTMLElement;
  poll(signal: AbortSignal): Promise<void>;
  end(): void;
}

let about: About;
let view: View | undefined;
let paused = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | undefined;

function range(): string {
  const asked = address().query.get("range") ?? "15m";
  return ranges[asked] ? asked : "15m";
}

function go(change: Record<string, string>): void {
  const { path, query } = address();
  for (const [name, value] of Object.entries(change)) value ? query.set(name, value) : query.delete(name);
  location.hash = path + (query.size ? "?" + query : "");
}

/** time is the span to ask for. */
function time(): Record<string, string> {
  const r = range();
  return r === "15m" ? {} : { from: new Date(Date.now() - ranges[r]!.seconds * 1000).toISOString() };
}

function rangeButtons(): HTMLElement[] {
  return Object.entries(ranges).map(([name, r]) => h("button", { type: "button", "aria-pressed": String(name === range()), "data-range": name, onclick: (() => go({ range: name === "15m" ? "" : name })) as EventListener }, r.text));
}

/** once polls the view now, and then again in a while. */
async function once(): Promise<void> {
  clearTimeout(timer);
  running?.abort();
  const mine = (running = new AbortController());
  const asked = view;
  try {
    await asked?.poll(mine.signal);
    if (!mine.signal.aborted) at("state").textContent = paused ? "Paused" : "Live";
  } catch (fault) {
    if (mine.signal.aborted) return;
    at("state").textContent = "Not up to date";
    told(fault);
  }
  if (!mine.signal.aborted) plan();
}

function plan(): void {
  clearTimeout(timer);
  if (!paused && !document.hidden) timer = setTimeout(() => void once(), ranges[range()]!.every * 1000);
}

/** told says what went wrong, above what was known before. */
function told(fault: unknown): void {
  const place = document.getElementById("notice");
  if (!place) return;
  const { what, then, line } = remedy(fault, about);
  fill(place, h("div", { class: "notice fault", role: "alert" }, h("p", {}, h("strong", {}, visible(what)), " ", visible(then)), line ? command(line) : null));
}

function overview(): View {
  const element = h("div", {});
  element.append(at<HTMLTemplateElement>("overview").content.cloneNode(true));
  fill(at("main"), element); // the charts need their place
  const prefix = address().query.get("prefix") ?? "";
  const index = address().query.get("index") ?? "";
  const panels: Panel[] = [hotKeys(about)];
  if (about.mode !== "table") panels.push(counter(), board(), pipeline());
  at("side").append(...panels.map((p) => p.element));
  if (about.mode === "local") at("side").append(steps());
  fill(at("ranges"), ...rangeButtons());
  const input = at<HTMLInputElement>("prefix");
  input.value = prefix;
  at("filter").addEventListener("submit", (e) => {
    e.preventDefault();
    go({ prefix: input.value });
  });
  const map = new HeatMap(at("map"), { open: (row) => (location.hash = link(row)), more: count });
  const list = new RowList(at("rows"), (row) => map.point(row));
  at("zoom-in").addEventListener("click", () => map.zoom(0.5));
  at("zoom-out").addEventListener("click", () => map.zoom(2));
  at("zoom-all").addEventListener("click", () => map.whole());
  let last: Heat | undefined;
  const orders = [...at("orders").querySelectorAll("button")];
  for (const b of orders) {
    b.addEventListener("click", () => {
      list.order = b.dataset["order"] as Order;
      for (const o of orders) o.setAttribute("aria-pressed", String(o === b));
      if (last) list.show(last);
    });
  }
  let explained = "";
  const pick = at<HTMLSelectElement>("index");
  pick.addEventListener("change", () => go({ index: pick.value }));
  const draw = (whole: Heat) => {
    const heat = (last = crop(whole));
    const names = [...new Set([...(heat.indexes ?? []), ...(index ? [index] : [])])];
    at("indexes").hidden = names.length === 0;
    if (pick.options.length !== names.length + 1) fill(pick, h("option", { value: "" }, "the table's own keys"), ...names.map((n) => h("option", { value: n, selected: n === index }, `index ${visible(n)}`)));
    const nothing = heat.total.every((u) => u === 0);
    at("drawn").hidden = nothing;
    at("rows-panel").hidden = heat.rows.length === 0;
    fill(at("notice"), nothing ? empty(prefix) : freshness(heat));
    if (nothing) return;
    map.show(heat);
    list.show(heat);
    const scale = `${heat.partition_wcu} ${heat.hot_wcu}`;
    if (explained !== scale) fill(at("legend"), legend(heat));
    explained = scale;
    performance.mark("usable map");
  };
  return {
    element,
    async poll(signal) {
      const beside = panels.map((p) => p.poll(signal));
      draw(await get<Heat>("/v1/heat", { ...time(), ...(prefix ? { prefix } : {}), ...(index ? { index } : {}) }, signal));
      await Promise.all(beside);
    },
    end: () => map.end(),
  };
}

/** freshness says how much of the time shown is known, where that is not all. */
function freshness(heat: Heat): HTMLElement | null {
  const scale = new Scale(heat);
  const read = heat.total.reduce((s, _, i) => s + scale.covered(i), 0) / Math.max(1, scale.columns);
  const parts = [heat.as_of ? `newest window: ${ago(heat.as_of)}` : "", read < 0.98 ? `${percent(read)} of this time is known` : ""].filter(Boolean);
  return parts.length ? h("p", { class: "quiet fresh" }, parts.join(" · ")) : null;
}

/** empty says why there is nothing to see, and how to see something. */
function empty(prefix: string): HTMLElement {
  if (prefix) {
    return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat here: "), "nothing was written in this time to keys that begin with ", h("bdi", { class: "key" }, visible(prefix)), "."),
      h("button", { type: "button", onclick: (() => go({ prefix: "" })) as EventListener }, "Show all keys"));
  }
  const what = "nothing was counted in this time. Writes show when their window has ended, some seconds later.";
  if (about.mode === "local") {
    return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet: "), what, " To make some:"), command(`${program(about)} load --workload viral --count 20000 --target ${quoted(location.origin)}`));
  }
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet: "), what, about.table ? ` They must be to ${visible(about.table)}.` : ""), h("p", { class: "quiet" }, "A longer time may have some: ", h("button", { type: "button", class: "small", onclick: (() => go({ range: "24h" })) as EventListener }, "24 h")));
}

/** steps tells a newcomer where to begin. */
function steps(): DocumentFragment {
  const part = at<HTMLTemplateElement>("first-steps").content.cloneNode(true) as DocumentFragment;
  for (const code of part.querySelectorAll("pre code")) code.textContent = (code.textContent ?? "").replaceAll("http://127.0.0.1:8080", location.origin);
  return part;
}

const counts = new Map<string, { at: number; lines: Promise<string[]> }>();

/** count asks for a row's N, at most every 5 s. */
function count(row: Row): Promise<string[]> {
  if (about.mode === "table" || !row.type || row.name === undefined || row.keys > 1) return Promise.resolve([]);
  const id = `${row.type} ${row.name}`;
  const known = counts.get(id);
  if (known && Date.now() - known.at < 5000) return known.lines;
  const lines = get<Shards>("/v1/shards", { type: row.type, name: row.name }).then((s) => [`N = ${s.shards} write shards${s.pinned ? ", pinned" : ""}`], () => []);
  if (counts.size > 1000) counts.clear();
  counts.set(id, { at: Date.now(), lines });
  return lines;
}

function keyPage(query: URLSearchParams): View {
  const page = new KeyPage(query, about, h("div", { class: "picks", role: "group", "aria-label": "Time shown" }, ...rangeButtons()));
  const element = h("div", {}, h("div", { id: "notice" }), page.element);
  fill(at("main"), element);
  return {
    element,
    async poll(signal) {
      await page.poll(time(), signal);
      fill(at("notice"));
    },
    end: () => page.end(),
  };
}

function show(): void {
  const { path, query } = address();
  running?.abort();
  view?.end();
  const name = query.get("name") ?? query.get("key") ?? "";
  document.title = path === "/key" ? `${visible(name).slice(0, 60)} – hotshard` : "hotshard";
  view = path === "/key" ? keyPage(query) : overview();
  void once();
}

async function start(): Promise<void> {
  themed(at("theme"));
  document.querySelector(".skip")!.addEventListener("click", (e) => {
    e.preventDefault(); // the address after # is the page's
    at("main").focus();
  });
  const pause = at<HTMLButtonElement>("pause");
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    at("state").textContent = paused ? "Paused" : "Live";
    if (!paused) return void once();
    clearTimeout(timer);
    running?.abort();
  });
  document.addEventListener("visibilitychange", () => (document.hidden || paused ? clearTimeout(timer) : void once()));
  try {
    about = await get<About>("/console/about");
  } catch (fault) {
    about = { mode: "local", where: "", command: "", version: "" };
    fill(at("main"), h("div", { id: "notice" }));
    told(fault);
    setTimeout(() => location.reload(), 3000);
    return;
  }
  begin();
}

function begin(): void {
  const what = about.mode === "table" ? `table ${visible(about.table ?? "")}` : about.mode === "local" ? "local" : "deployment";
  at("where").textContent = [what, visible(about.where), /^\d|^v\d/.test(about.version) ? about.version : ""].filter(Boolean).join(" · ");
  addEventListener("hashchange", show);
  show();
}

// One script is for both pages: most of it is the chart library. Only a report has its data in it.
if (document.getElementById("data")) report();
else void start();
