// The overview: the heat map, its list of keys, and panels beside them.
import { inFile } from "./api";
import { address, chosenTime, go, link, note, ranges, type Time } from "./address";
import { at, fill, h } from "./dom";
import { freshness, noHeat, noMatch, steps } from "./empty";
import { hotKeys } from "./hotkeys";
import { legend } from "./legend";
import { HeatMap } from "./map";
import { board, counter, type Panel } from "./panels";
import { type Line, type Look, type Metric, metrics, picture, type Picture } from "./picture";
import { RowList } from "./rows";
import { Source, type Question } from "./source";
import { clock, moment, visible } from "./text";
import type { About, Matrix, SignalsAnswer } from "./types";
import { read, written } from "./zoom";

const mostUnfolded = 8; // maximum number of unfold parameters that the API takes

/** Overview is the console's first page. */
export class Overview {
  private readonly element = h("div", {});
  private readonly source = new Source();
  private readonly panels: Panel[];
  private readonly map: HeatMap;
  private readonly list: RowList;
  private last: { heat: Matrix; signals: SignalsAnswer | undefined } | undefined;

  constructor(private readonly about: About) {
    this.element.append(at<HTMLTemplateElement>("overview").content.cloneNode(true));
    at("main").replaceChildren(this.element); // before the charts, which measure their elements
    this.panels = [hotKeys(about), ...(about.mode === "table" ? [] : [counter(), board()])];
    at("side").append(...this.panels.map((p) => p.element));
    if (about.mode === "local") at("side").append(steps(about));
    const { query } = address();
    const unfold = (line: Line) => this.unfold(line);
    const open = (line: Line) => (line.more ? unfold(line) : opened(line));
    this.map = new HeatMap(at("map"), { open, unfold, zoomed: (zoom) => note({ zoom: written(zoom) }) }, read(query.get("zoom") ?? ""));
    this.list = new RowList(at("rows"), { point: (line) => this.map.point(line), unfold, sort: (sort) => note({ sort: sort === "-status" ? "" : sort }) }, query.get("sort") ?? "-status");
    at("filter").hidden = inFile; // the server filters
    fill(at("demo"), about.demo ?? "");
    this.controls();
    this.settings();
  }

  end(): void {
    this.map.end();
  }

  /** controls adds the event handlers of the page's controls. */
  private controls(): void {
    at("filter").addEventListener("submit", (e) => {
      e.preventDefault();
      go({ filter: at<HTMLInputElement>("filter-text").value, zoom: "" });
    });
    at("zoom-in").addEventListener("click", () => this.map.narrow(0.5));
    at("zoom-out").addEventListener("click", () => this.map.narrow(2));
    at("zoom-reset").addEventListener("click", () => this.map.zoomTo(undefined));
    at("index").addEventListener("change", () => go({ index: at<HTMLSelectElement>("index").value, unfold: [], all: [] }));
    fill(at("metrics"), ...Object.entries(metrics).map(([id, m]) => h("button", { type: "button", "data-metric": id, title: `Brightness shows ${m.means}`, onclick: (() => go({ metric: id === "max" ? "" : id })) as EventListener }, m.text)));
    const gain = at<HTMLInputElement>("gain");
    gain.addEventListener("input", () => {
      note({ gain: gain.value === "0" ? "" : gain.value });
      this.redraw();
    });
    for (const layer of ["throttled", "events"]) at(`layer-${layer}`).addEventListener("change", () => {
      note({ hide: ["throttled", "events"].filter((l) => !at<HTMLInputElement>(`layer-${l}`).checked) });
      this.redraw();
    });
  }

  /** settings sets the controls to the address's values. */
  private settings(): void {
    const { query } = address();
    const look = chosenLook();
    fill(at("ranges"), ...rangeControls(chosenTime()));
    at<HTMLInputElement>("filter-text").value = query.get("filter") ?? "";
    for (const b of at("metrics").querySelectorAll("button")) b.setAttribute("aria-pressed", String(b.dataset["metric"] === look.metric));
    at<HTMLInputElement>("gain").value = query.get("gain") ?? "0";
    for (const layer of ["throttled", "events"] as const) at<HTMLInputElement>(`layer-${layer}`).checked = look.layers[layer];
  }

  /** changed applies a change of the address. It returns false if the address names another page. */
  changed(): boolean {
    if (address().path === "/key") return false;
    this.settings();
    this.map.zoomTo(read(address().query.get("zoom") ?? ""));
    this.list.order(address().query.get("sort") ?? "-status");
    this.redraw();
    return true;
  }

  private unfold(line: Line): void {
    const { unfolded, all } = chosenLook();
    const { key } = line.parent ?? line.row;
    if (line.more) all.add(key);
    else {
      all.delete(key);
      if (!unfolded.delete(key)) unfolded.add(key);
    }
    go({ unfold: [...unfolded].slice(-mostUnfolded), all: [...all] });
  }

  async poll(signal: AbortSignal): Promise<string | undefined> {
    const beside = this.panels.map((p) => p.poll(signal));
    const heat = await this.source.heat(question(), signal);
    const signals = await this.source.beside(heat, question().index, signal);
    this.last = { heat, signals };
    this.redraw();
    await Promise.all(beside);
    return heat.as_of;
  }

  private redraw(): void {
    if (!this.last) return;
    const { heat, signals } = this.last;
    const { query } = address();
    const filter = query.get("filter") ?? "";
    this.indexes(heat, query.get("index") ?? "");
    const nothing = heat.total.every((u) => u === 0);
    const unmatched = filter !== "" && heat.rows.length === 0;
    at("drawn").hidden = at("rows-panel").hidden = nothing || unmatched;
    const p = picture(heat, chosenLook(), signals, { whole: chosenTime().from !== "" });
    fill(at("notice"), nothing ? noHeat(this.about, heat) : unmatched ? noMatch(filter) : freshness(this.about, heat, p.scale.known()), unknownThrottles(p, signals));
    if (nothing || unmatched) return;
    this.map.show(p);
    this.list.show(p);
    legend(at("legend"), p);
    performance.mark("usable map");
  }

  private indexes(heat: Matrix, chosen: string): void {
    const names = [...new Set([...(heat.indexes ?? []), ...(chosen ? [chosen] : [])])];
    at("indexes").hidden = names.length === 0;
    fill(at("index"), h("option", { value: "" }, "Table"), ...names.map((n) => h("option", { value: n }, visible(n))));
    at<HTMLSelectElement>("index").value = chosen;
  }
}

/** opened opens the page of a line's key. */
function opened(line: Line): void {
  const to = link(line.parent ?? line.row);
  if (to) location.hash = to;
}

function question(): Question {
  const { query } = address();
  return { time: chosenTime(), filter: query.get("filter") ?? "", index: query.get("index") ?? "", unfold: query.getAll("unfold").slice(0, mostUnfolded) };
}

/** chosenLook reads the look from the address. */
function chosenLook(): Look {
  const { query } = address();
  const metric = query.get("metric") ?? "max";
  const hidden = query.getAll("hide");
  return {
    metric: metric in metrics ? (metric as Metric) : "max", gain: 2 ** (Number(query.get("gain")) || 0),
    layers: { throttled: !hidden.includes("throttled"), events: !hidden.includes("events") }, unfolded: new Set(query.getAll("unfold")), all: new Set(query.getAll("all")),
  };
}

/** unknownThrottles is the notice why the map shows no throttled writes; null if it shows them or another metric. */
function unknownThrottles(p: Picture, signals: SignalsAnswer | undefined): HTMLElement | null {
  const unknown = p.look.metric === "throttled" && !signals?.keys?.length;
  if (!unknown) return null;
  const known = signals?.throttled?.every((n) => n !== null);
  const why = signals?.note || (known ? "No writes were throttled." : "Throttled writes are unknown here, or for some columns.");
  return h("p", { class: "quiet fresh" }, visible(why));
}

/** rangeControls returns the buttons of the relative time ranges, and a form for absolute ones; in a file only its range. */
export function rangeControls(time: Time): HTMLElement[] {
  if (inFile) return [h("span", { class: "quiet", title: `${moment(time.from)} – ${moment(time.to)}` }, `${clock(Date.parse(time.from), 86400e3)} – ${clock(Date.parse(time.to), 86400e3)}`)];
  const buttons = Object.entries(ranges).map(([id, r]) => h("button", { type: "button", "data-range": id, "aria-pressed": String(id === time.range), onclick: (() => go({ range: id === "15m" ? "" : id, from: "", to: "", zoom: "" })) as EventListener }, r.text));
  const local = (text: string, ago: number) => {
    const ms = text ? Date.parse(text) : Date.now() - ago;
    return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  };
  const input = (name: string, value: string) => h("label", {}, name, h("input", { type: "datetime-local", step: "1", name: name.toLowerCase(), value }));
  const show = (e: globalThis.Event) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const utc = (name: string) => (form.get(name) ? new Date(String(form.get(name))).toISOString().replace(".000Z", "Z") : "");
    (e.currentTarget as HTMLElement).closest("details")!.open = false;
    if (utc("from")) go({ range: "", from: utc("from"), to: utc("to"), zoom: "" });
  };
  const shown = time.from ? `${clock(Date.parse(time.from), 86400e3)} – ${time.to ? clock(Date.parse(time.to), 86400e3) : "now"}` : "Custom";
  return [...buttons, h("details", { class: "custom" },
    h("summary", { "data-chosen": time.from ? "yes" : undefined, title: time.from ? `${moment(time.from)} – ${time.to ? moment(time.to) : "now"}` : "A range with a start and an end" }, shown),
    h("form", { onsubmit: show as EventListener }, input("From", local(time.from, 3600e3)), input("To", time.to ? local(time.to, 0) : ""), h("p", { class: "quiet" }, "Local time. An empty end means now."), h("button", { type: "submit" }, "Show")))];
}
