import { address, chosenTime } from "./address";
import { get } from "./api";
import { Chart } from "./chart";
import { at, copier, fill, h } from "./dom";
import { hottest, together, type KeyData } from "./keycharts";
import { kinds } from "./kinds";
import { rangeControls } from "./overview";
import { picture, plain } from "./picture";
import { Pin } from "./pin";
import { Source } from "./source";
import { spread } from "./spread";
import { clock, count, cut, figure, hovered, percent, visible, wcu } from "./text";
import type { About, HeatRow, HotKey, HotKeysOutputBody, ShardCount } from "./types";
import { baseKey, before, growth, hot, sign, verdict } from "./words";

/** Asked is the key that the address names. */
interface Asked {
  base: { type: string; name: string } | undefined;
  key: string;
  index: string;
}

function askedKey(query: URLSearchParams, about: About): Asked {
  const [type, name] = [query.get("type"), query.get("name")];
  const base = type && name !== null && kinds[type] && about.mode !== "table" ? { type, name } : undefined;
  if (base) return { base, key: baseKey(base.type, base.name), index: kinds[base.type]!.index };
  return { base, key: query.get("key") ?? name ?? "", index: query.get("index") ?? "" };
}

/** KeyPage is the page of one key: its rate, shard count history, load per write shard, and advice. */
export class KeyPage {
  private readonly asked: Asked;
  private readonly source = new Source();
  private readonly ranges = h("div", { class: "picks", role: "group", "aria-label": "Time shown" });
  private readonly facts = h("div", { class: "stats" });
  private readonly advice = h("div", { class: "advice" });
  private readonly spread = h("div", {});
  private readonly history = h("div", {});
  private readonly pin: Pin | undefined;
  private readonly charts: Chart[];
  private data: KeyData | undefined;

  constructor(query: URLSearchParams, about: About) {
    const asked = (this.asked = askedKey(query, about));
    this.pin = asked.base && about.command ? new Pin(about.command, asked.base) : undefined;
    const rate = h("div", { class: "chart" });
    const together_ = h("div", { class: "chart" });
    const part = (name: string, body: HTMLElement) => h("section", { class: "panel", "aria-label": name }, h("h3", {}, name), body);
    const page = h("div", { class: "page key-page" }, this.head(asked),
      part(asked.base ? "The hottest write shard against its partition's limit" : "Rate against the partition's limit", rate),
      asked.base ? part("All write shards together, and their number", together_) : null,
      asked.base ? part("How the write shards share the load", this.spread) : null,
      asked.base ? part("Shard count history", this.history) : null,
      this.pin ? part("Pin the shard count ahead of a known peak", this.pin.element) : null);
    at("main").replaceChildren(h("div", {}, h("div", { id: "notice" }), page));
    this.charts = [new Chart(rate, () => this.data && hottest(this.data)), ...(asked.base ? [new Chart(together_, () => this.data && together(this.data))] : [])];
    fill(this.ranges, ...rangeControls(chosenTime()));
  }

  private head({ base, key, index }: Asked): HTMLElement {
    const what = base ? base.type : index ? `partition key of the index ${visible(index)}` : "partition key";
    return h("div", { class: "panel wide" }, h("div", { class: "head" }, h("a", { href: "#/", class: "back" }, "← Heat map"), this.ranges),
      h("h2", { title: visible(key), class: "title" }, h("bdi", { class: "key" }, cut(visible(key), 120)), copier(() => key, "the key"), h("span", { class: "quiet" }, what)),
      key.length > 120 ? h("details", {}, h("summary", {}, `all ${key.length} characters`), h("p", { class: "key whole" }, h("bdi", {}, visible(key)))) : null,
      this.facts, this.advice);
  }

  changed(): boolean {
    const { path, query } = address();
    const [type, name, key] = [query.get("type"), query.get("name"), query.get("key")];
    const same = path === "/key" && (this.asked.base ? type === this.asked.base.type && name === this.asked.base.name : !type && (key ?? name ?? "") === this.asked.key && (query.get("index") ?? "") === this.asked.index);
    if (same) fill(this.ranges, ...rangeControls(chosenTime()));
    return same;
  }

  end(): void {
    for (const c of this.charts) c.end();
  }

  async poll(signal: AbortSignal): Promise<string | undefined> {
    const { base, key, index } = this.asked;
    const [heat, hotKeys, shards] = await Promise.all([
      this.source.heat({ time: chosenTime(), filter: base?.name ?? key, index, unfold: base ? [key] : [] }, signal),
      get<HotKeysOutputBody>("/v1/hot-keys", { since: "15m", limit: "20" }, signal),
      base ? get<ShardCount>("/v1/shards", base, signal) : undefined,
    ]);
    const p = picture(heat, { ...plain, unfolded: new Set([key]) }, await this.source.beside(heat, index, signal), { whole: chosenTime().from !== "" });
    const line = p.lines.find(({ row, parent }) => !parent && row.keys === 1 && (base ? row.type === base.type && row.name === base.name : row.key === key));
    const now = hotKeys.keys.find((k) => (base ? k.type === base.type && k.name === base.name : k.key === key && (k.index ?? "") === index));
    this.data = { picture: p, line, shards };
    fill(at("notice"));
    this.say(line?.row, now, shards);
    for (const c of this.charts) c.draw();
    if (base) spread(this.spread, p.scale, line?.row);
    if (shards) history(this.history, shards);
    this.pin?.propose(line && hot(line.row) ? now?.advice : undefined);
    return heat.as_of;
  }

  private say(row: HeatRow | undefined, now: HotKey | undefined, shards: ShardCount | undefined): void {
    const limit = this.data!.picture.heat.partition_wcu;
    const of = row ?? now;
    const current = now?.current ?? row?.current; // of the advice's moment
    fill(this.facts,
      stat("Status", of ? `${sign(of).text} ${verdict(of)}`.trim() : "No recent writes", row?.cooled_at ? `cooled at ${clock(Date.parse(row.cooled_at))}` : ""),
      current !== undefined && stat("Now", wcu(current), limit > 0 ? `${percent(current / limit)} of the partition limit` : ""),
      of && stat("Hottest window", wcu(of.write_units_per_second), now && now.error > 0 ? `±${figure(now.error)} (upper bound)` : ""),
      of?.peak !== undefined && stat("Peak", wcu(of.peak), "in its heaviest second"),
      shards && stat("Write shards", growth(shards.shards, row && before(row)), [shards.pinned ? "pinned" : "", `most so far: ${shards.max_shards}`].filter(Boolean).join(" · ")));
    const text = now?.advice ?? (row ? "" : "No recent writes");
    fill(this.advice, h("span", {}, visible(text)), now ? copier(() => now.advice, "the advice") : null);
  }
}

function stat(name: string, value: string, under: string): HTMLElement {
  return h("div", {}, h("div", { class: "quiet" }, name), h("div", { class: "value", "data-stat": name }, value), under ? h("div", { class: "quiet" }, under) : null);
}

/** history lists the changes of a shard count, the newest first. */
function history(place: HTMLElement, s: ShardCount): void {
  if (s.history.length === 0) return fill(place, h("p", { class: "quiet" }, "Never resharded."));
  fill(place, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Shard count history, ${count(s.history.length, "change")}` }, h("table", { class: "facts" },
    h("thead", {}, h("tr", {}, ...["Time", "Write shards", "Changed by", "Reason"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, ...[...s.history].reverse().map((c) => h("tr", {}, h("td", { title: hovered(Date.parse(c.time)) }, clock(Date.parse(c.time)), h("span", { class: "quiet" }, ` ${ageDay(c.time)}`)), h("td", {}, String(c.shards)), h("td", {}, visible(c.by)), h("td", {}, visible(c.why))))))));
}

/** ageDay is the day of a time, in the browser's time zone. */
function ageDay(text: string): string {
  return clock(Date.parse(text), 86400e3).slice(0, 5);
}
