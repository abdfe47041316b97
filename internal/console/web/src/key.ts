import { get } from "./api";
import { Chart, rateAxis, timeAxis, tip, type Option } from "./chart";
import { copier, fill, h } from "./dom";
import { crop, hot, mark, Scale, sum } from "./heat";
import { colour } from "./theme";
import { cut, figure, moment, percent, quoted, visible } from "./text";
import type { About, Heat, HotKey, Row, Shards } from "./types";

// What partition keys of a base key begin with, and the index that has those of two types.
const prefixes: Record<string, string> = { entity: "E#", counter: "C#", board: "L#", sessions: "S#", limit: "R#" };
const indexes: Record<string, string> = { board: "by_rank", sessions: "by_group" };

/** KeyPage is one key's: its rate, its N and why, how its write shards share the load, what to do. */
export class KeyPage {
  readonly element: HTMLElement;
  private readonly base: { type: string; name: string } | undefined;
  private readonly key: string;
  private readonly index: string;
  private readonly facts = h("div", { class: "stats" });
  private readonly advice = h("p", { class: "advice" });
  private readonly spread = h("div", {});
  private readonly history = h("div", {});
  private readonly set = h("div", {});
  private readonly charts: Chart[] = [];
  private heat: Heat | undefined;
  private mine: Row[] = [];
  private shards: Shards | undefined;
  private wanted: HTMLInputElement | undefined;

  constructor(query: URLSearchParams, private readonly about: About, controls: HTMLElement) {
    const [type, name] = [query.get("type"), query.get("name")];
    this.base = type && name !== null && prefixes[type] && about.mode !== "table" ? { type, name } : undefined;
    this.key = this.base ? prefixes[this.base.type]! + this.base.name : query.get("key") ?? name ?? "";
    this.index = this.base ? indexes[this.base.type] ?? "" : query.get("index") ?? "";
    const shown = this.base?.name ?? this.key;
    const title = h("h2", { title: visible(shown), class: "title" }, h("bdi", { class: "key" }, cut(visible(shown), 120)), " ", h("span", { class: "quiet" }, this.base ? this.base.type : this.index ? `partition key of the index ${visible(this.index)}` : "partition key"));
    const rate = h("div", { class: "chart" });
    const count = h("div", { class: "chart" });
    const part = (name: string, ...body: HTMLElement[]) => h("section", { class: "panel", "aria-label": name }, h("h3", {}, name), ...body);
    this.element = h("div", { class: "page key-page" },
      h("div", { class: "panel wide" }, h("div", { class: "head" }, h("a", { href: "#/", class: "back" }, "← Heat map"), controls), title,
        shown.length > 120 ? h("details", {}, h("summary", {}, `all ${shown.length} characters`), h("p", { class: "key whole" }, h("bdi", {}, visible(shown)))) : null,
        this.facts, this.advice),
      part(this.base ? "The hottest write shard against its partition's limit" : "Rate against the partition's limit", rate),
      this.base ? part("All write shards together, and N", count) : null,
      part(this.base ? "How the write shards share the load" : "Rows of the map", this.spread),
      this.base ? part("Changes of N", this.history) : null,
      this.base && about.command ? part("Pin N ahead of a known peak", this.set) : null);
    this.charts.push(new Chart(rate, () => this.rates()));
    if (this.base) this.charts.push(new Chart(count, () => this.counts()));
    if (this.base && about.command) this.command();
  }

  end(): void {
    for (const c of this.charts) c.end();
  }

  async poll(time: Record<string, string>, signal: AbortSignal): Promise<void> {
    const prefix = this.base ? this.key + "#" : this.key;
    const [heat, hotKeys, shards] = await Promise.all([
      get<Heat>("/v1/heat", { ...time, prefix, ...(this.index ? { index: this.index } : {}) }, signal),
      get<{ keys: HotKey[] }>("/v1/hot-keys", { since: "15m", limit: "20" }, signal),
      this.base ? get<Shards>("/v1/shards", this.base, signal) : undefined,
    ]);
    this.heat = crop(heat);
    this.shards = shards;
    this.mine = this.heat.rows.filter((r) => (this.base ? r.keys > 1 || (r.type === this.base.type && r.name === this.base.name) : r.key === this.key && r.keys === 1));
    const now = hotKeys.keys.find((k) => (this.base ? k.type === this.base.type && k.name === this.base.name : k.key === this.key && (k.index ?? "") === this.index));
    this.say(now);
    for (const c of this.charts) c.draw();
    this.rowsOf(new Scale(this.heat));
    if (shards) this.changes(shards);
  }

  private say(now: HotKey | undefined): void {
    const [top] = [...this.mine].sort((a, b) => b.write_units_per_second - a.write_units_per_second);
    const status = now?.status ?? top?.status ?? "warm";
    const rate = now?.write_units_per_second ?? top?.write_units_per_second;
    const stat = (name: string, value: string, under = "") => h("div", {}, h("div", { class: "quiet" }, name), h("div", { class: "value", "data-stat": name }, value), under ? h("div", { class: "quiet" }, under) : null);
    fill(this.facts,
      stat("status", `${mark[status]} ${rate === undefined ? "nothing seen" : status}`.trim()),
      rate === undefined ? null : stat("certified rate", `${figure(rate)}/s`, now && now.error > 0 ? `at most ${figure(now.error)} more` : "of its hottest window"),
      rate === undefined ? null : stat("of a partition", percent(rate / this.heat!.partition_wcu)),
      this.shards ? stat("N", String(this.shards.shards), `write shards${this.shards.pinned ? ", pinned" : ""}; ${this.shards.max_shards} at most so far`) : null);
    fill(this.advice, now ? visible(now.advice) : "Not among the hottest of the last 15 minutes.");
    const proposed = /write shards to (\d+)/.exec(now?.advice ?? "")?.[1];
    if (this.wanted && !this.wanted.dataset["touched"] && this.shards) {
      const value = proposed ?? String(Math.min(1000, this.shards.shards * 2));
      if (this.wanted.value !== value) {
        this.wanted.value = value;
        this.wanted.dispatchEvent(new Event("change"));
      }
    }
  }

  /** hottest is, for each column, the row with the most units. */
  private hottest(): { units: number[]; error: number[] } {
    const columns = this.heat!.total.length;
    const out = { units: new Array<number>(columns).fill(0), error: new Array<number>(columns).fill(0) };
    for (const row of this.mine.filter((r) => r.keys === 1)) {
      row.units.forEach((u, i) => {
        if (u >= out.units[i]!) [out.units[i], out.error[i]] = [u, row.error[i] ?? 0];
      });
    }
    return out;
  }

  private frame(scale: Scale): Record<string, unknown> {
    const span = scale.to - scale.from;
    return { animation: false, useUTC: true, textStyle: { fontFamily: colour("--font") }, grid: { left: 46, right: 40, top: 30, bottom: 24, outerBoundsMode: "none" }, xAxis: timeAxis(scale.from, scale.to), tooltip: tip(span, { N: "" }) };
  }

  private rates(): Option | undefined {
    if (!this.heat) return undefined;
    const scale = new Scale(this.heat);
    const { units, error } = this.hottest();
    const points = (list: number[]) => list.map((u, i) => [scale.start(i) + scale.step / 2, scale.covered(i) > 0 ? scale.rate(u) : null]);
    const level = (name: string, y: number, c: string) => ({ name, yAxis: y, lineStyle: { color: colour(c), type: "dashed", width: 1 }, label: { formatter: name, position: "insideStartTop", color: colour(c), fontSize: 11 } });
    return {
      ...this.frame(scale), yAxis: { ...rateAxis("write units/s"), max: (v: { max: number }) => (v.max > this.heat!.partition_wcu ? null : this.heat!.partition_wcu * 1.1) },
      series: [
        { name: "at most", type: "line", step: "middle", showSymbol: false, data: points(units.map((u, i) => u + error[i]!)), lineStyle: { width: 1, type: "dotted", color: colour("--quiet") }, itemStyle: { color: colour("--quiet") } },
        {
          name: "certified", type: "line", step: "middle", showSymbol: false, data: points(units), lineStyle: { width: 1.8, color: colour("--series") }, itemStyle: { color: colour("--series") }, areaStyle: { color: colour("--series"), opacity: 0.15 },
          markLine: { silent: true, symbol: "none", data: [level(`threshold ${figure(this.heat.hot_wcu)}`, this.heat.hot_wcu, "--hot"), level(`limit ${figure(this.heat.partition_wcu)}`, this.heat.partition_wcu, "--saturated")] },
        },
      ],
    } as unknown as Option;
  }

  private counts(): Option | undefined {
    if (!this.heat || !this.shards) return undefined;
    const scale = new Scale(this.heat);
    const total = this.heat.total.map((_, i) => [scale.start(i) + scale.step / 2, scale.covered(i) > 0 ? scale.rate(sum(this.mine.map((r) => r.units[i] ?? 0))) : null]);
    const before = this.shards.history.filter((c) => Date.parse(c.time) <= scale.from).at(-1)?.shards ?? 1;
    const within = this.shards.history.filter((c) => Date.parse(c.time) > scale.from && Date.parse(c.time) < scale.to);
    const steps: [number, number][] = [[scale.from, before], ...within.map((c): [number, number] => [Date.parse(c.time), c.shards]), [scale.to, within.at(-1)?.shards ?? before]];
    return {
      ...this.frame(scale),
      yAxis: [rateAxis("write units/s"), { ...rateAxis("N"), position: "right", minInterval: 1, splitLine: { show: false }, max: (v: { max: number }) => Math.ceil(v.max * 1.2), nameTextStyle: { color: colour("--quiet"), fontSize: 11, align: "right" } }],
      series: [
        { name: "all write shards", type: "line", step: "middle", showSymbol: false, data: total, lineStyle: { width: 1.2, color: colour("--series") }, itemStyle: { color: colour("--series") }, areaStyle: { color: colour("--series"), opacity: 0.15 } },
        { name: "N", type: "line", yAxisIndex: 1, step: "end", symbol: "circle", symbolSize: 6, data: steps, lineStyle: { width: 2, color: colour("--count") }, itemStyle: { color: colour("--count") } },
      ],
    } as unknown as Option;
  }

  /** rowsOf compares the rows' mean rates over the time that was read. */
  private rowsOf(scale: Scale): void {
    const seconds = this.heat!.total.reduce((s, _, i) => s + scale.covered(i) * (scale.step / 1000), 0) || 1;
    const rows = this.mine.map((row) => ({ row, mean: sum(row.units) / seconds })).sort((a, b) => b.mean - a.mean);
    const most = rows[0]?.mean || 1;
    if (rows.length === 0) return fill(this.spread, h("p", { class: "quiet" }, "Nothing was written to it in this time, or too little to be told apart."));
    const bar = (share: number) => {
      const b = h("span", { class: "bar" });
      b.style.width = `${Math.max(1, 100 * share)}%`;
      return h("td", { class: "bars" }, b);
    };
    fill(this.spread, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Write shards" }, h("table", { class: "facts spread" },
      h("thead", {}, h("tr", {}, ...["partition key", "mean", "", "most"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ...rows.slice(0, 256).map(({ row, mean }) => h("tr", {},
        h("td", { title: visible(row.key) }, h("span", { class: "sign " + row.status }, mark[row.status]), h("bdi", { class: "key" }, cut(visible(row.key), 36) + (row.keys > 1 ? `* ×${row.keys}` : "")), row.index ? ` · ${visible(row.index)}` : ""),
        h("td", {}, `${figure(mean)}/s`), bar(mean / most), h("td", { class: hot(row) ? "" : "quiet" }, `${figure(row.write_units_per_second)}/s`)))))));
  }

  private changes(s: Shards): void {
    if (s.history.length === 0) return fill(this.history, h("p", { class: "quiet" }, "None: it has had one write shard always."));
    fill(this.history, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes of N" }, h("table", { class: "facts" },
      h("thead", {}, h("tr", {}, ...["from", "N", "by", "why"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ...[...s.history].reverse().map((c) => h("tr", {}, h("td", {}, moment(c.time)), h("td", {}, String(c.shards)), h("td", {}, visible(c.by)), h("td", {}, visible(c.why))))))));
  }

  /** command is the line that pins N, to copy. */
  private command(): void {
    const input = h("input", { type: "number", id: "pin", min: "1", max: "1000", value: "2" });
    const line = h("code", { id: "set-command" });
    const write = () => {
      const n = Math.min(1000, Math.max(1, Math.round(Number(input.value)) || 1));
      line.textContent = `${this.about.command} --type ${this.base!.type} --name=${quoted(this.base!.name)} --shards ${n}`;
    };
    input.addEventListener("input", () => {
      input.dataset["touched"] = "yes";
      write();
    });
    input.addEventListener("change", write);
    write();
    this.wanted = input;
    fill(this.set, h("p", { class: "ask" }, h("label", { for: "pin" }, "Write shards"), input), h("div", { class: "command" }, line, copier(() => line.textContent ?? "")),
      h("p", { class: "quiet" }, "The console changes nothing by itself: run it in a shell. With --unpin instead of --shards the controller has it again."));
  }
}
