import { fill, h } from "./dom";
import type { Scale } from "./scale";
import { clock, count, cut, figure, visible } from "./text";
import type { HeatRow } from "./types";
import { sign } from "./words";

/** Basis is the time over which write shards are compared. All of them existed then. */
interface Basis {
  first: number; // column
  seconds: number; // number of seconds that were read
  since: number | undefined; // time of the shard-count change that began it, in ms
}

/** basis returns the time since the newest shard-count change that was followed by a fully read column. */
export function basis(scale: Scale, row: HeatRow): Basis {
  const times = (row.changes ?? []).map((c) => Date.parse(c.time)).reverse();
  for (const since of [...times, undefined]) {
    const first = since === undefined ? 0 : Math.ceil((since - scale.from) / scale.step);
    let seconds = 0;
    for (let i = first; i < scale.columns; i++) seconds += scale.covered(i) * (scale.step / 1000);
    if (seconds >= scale.step / 1000 || since === undefined) return { first, seconds, since };
  }
  throw new Error("unreachable");
}

/** spread shows the mean rates of a key's write shards, in numeric order. */
export function spread(place: HTMLElement, scale: Scale, row: HeatRow | undefined): void {
  const shards = row?.write_shards ?? [];
  if (!row || shards.length === 0) return fill(place, h("p", { class: "quiet" }, "No recent writes"));
  const { first, seconds, since } = basis(scale, row);
  const rows = shards.map((shard) => ({ shard, mean: shard.units.slice(first).reduce((a, b) => a + b, 0) / (seconds || 1) }));
  const written = rows.filter((r) => r.mean > 0);
  const most = Math.max(...rows.map((r) => r.mean)) || 1;
  const mean = written.reduce((sum, r) => sum + r.mean, 0) / (written.length || 1);
  const when = since === undefined ? "" : `Since ${clock(since)}, when the shard count changed. `;
  fill(place,
    h("p", { class: "quiet" }, `${when}${count(written.length, "write shard")} took ${figure(mean)} WCU/s on average, the hottest ${figure(mean > 0 ? most / mean : 0)} times as much.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Write shards" }, h("table", { class: "facts spread" },
      h("thead", {}, h("tr", {}, ...["Write shard", "Mean", "", "Hottest window"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ...rows.slice(0, 256).map((r) => entry(row, r.shard, r.mean, r.mean / most))))));
}

function entry(row: HeatRow, shard: HeatRow, mean: number, share: number): HTMLElement {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${mean > 0 ? Math.max(1, 100 * share) : 0}%`;
  const mark = sign(shard);
  const name = shard.key.startsWith(row.key) ? shard.key.slice(row.key.length) : shard.key;
  return h("tr", { "data-at": shard.key },
    h("td", { title: visible(shard.key) }, h("span", { class: mark.class }, mark.text), h("bdi", { class: "key" }, cut(visible(name), 36))),
    h("td", {}, figure(mean)), h("td", { class: "bars" }, bar), h("td", { class: "quiet" }, figure(shard.write_units_per_second)));
}
