import { get, inFile } from "./api";
import { link } from "./address";
import { copier, fill, h } from "./dom";
import { failed, panel, type Panel } from "./panels";
import { ago, cut, figure, visible } from "./text";
import type { About, HotKey, HotKeysOutputBody } from "./types";
import { baseKey, cooled, growth, hot, sign, verdict } from "./words";

const shown = 50; // maximum number of hot keys in the list
const normal = 5; // lines to fill with the heaviest other keys

/** hotKeys lists the keys of GET /v1/hot-keys with their rates and advice. */
export function hotKeys(about: About): Panel {
  const list = h("div", {}, h("p", { class: "quiet" }, "…"));
  return {
    element: panel(inFile ? "Hot keys" : "Hot keys now", list),
    async poll(signal) {
      try {
        const { keys, unread } = await get<HotKeysOutputBody>("/v1/hot-keys", { since: "15m", limit: "20" }, signal);
        fill(list, unread !== undefined && h("p", { class: "quiet" }, `Not counted: ${figure(unread)} heat items of another release of hotshard.`), ...sections(keys, about));
      } catch (fault) {
        if (!signal.aborted) failed(list, fault);
      }
    },
  };
}

function sections(keys: HotKey[], about: About): (HTMLElement | false)[] {
  const [now, was] = [keys.filter(hot), keys.filter(cooled)];
  const others = keys.filter((k) => !hot(k) && !cooled(k)).slice(0, Math.max(0, normal - now.length - was.length));
  const time = inFile ? "this time" : "the last 15 minutes";
  const list = (name: string, some: HotKey[]) => some.length > 0 && h("ol", { class: "hot-list", "aria-label": name }, ...some.slice(0, shown).map((k) => entry(k, about)));
  return [
    now.length === 0 && h("p", { class: "quiet" }, was.length > 0 ? `None. Cooled in ${time}:` : others.length > 0 ? `None in ${time}. The heaviest:` : `None in ${time}.`),
    inFile && now.length > 0 && h("h3", {}, "Hot at the end"), list("Hot now", now), now.length > 0 && was.length > 0 && h("h3", {}, "Cooled"), list("Cooled", was),
    now.length + was.length > 0 && others.length > 0 && h("h3", {}, "The heaviest others"), list("Heaviest", others),
    now.length > shown && h("p", { class: "quiet" }, `and ${figure(now.length - shown)} more, less hot`),
  ];
}

function entry(k: HotKey, about: About): HTMLElement {
  const mark = sign(k);
  const sharded = about.mode !== "table" && k.type !== "other";
  const shards = sharded ? `${growth(k.shards, k.shards_before)} write shard${k.shards === 1 ? "" : "s"}` : "";
  const name = visible(sharded && k.name !== "" ? baseKey(k.type, k.name) : k.key);
  const advice = visible(k.advice);
  return h("li", { "data-at": `${k.index ?? ""} ${k.type} ${k.name || k.key}` },
    h("div", { class: "line" },
      h("span", { class: mark.class, "aria-hidden": "true" }, mark.text),
      h("a", { href: link(k), title: `${name}, hottest partition key ${visible(k.key)}` }, h("bdi", { class: "key" }, cut(name, 42))),
      sharded && h("span", { class: "quiet" }, k.type), copier(() => k.key, `the key ${visible(k.key)}`)),
    h("div", { class: "state" }, [verdict(k), shards, k.index && `index ${visible(k.index)}`].filter(Boolean).join(" · ")),
    h("div", { class: "rates" }, figures("Peak", k.peak), figures("Hottest window", k.write_units_per_second, k.error), figures("Now", k.current), h("span", { class: "quiet" }, sharded && k.shards > 1 ? "WCU/s of the hottest write shard" : "WCU/s")),
    throttled(k),
    (hot(k) || cooled(k)) && h("div", { class: "advice" }, h("span", {}, advice), copier(() => k.advice, "the advice")));
}

function figures(name: string, rate: number | undefined, error = 0): HTMLElement | false {
  return rate !== undefined && h("div", { title: error > 0 ? `±${figure(error)} WCU/s (upper bound)` : undefined }, h("div", { class: "quiet" }, name), h("b", {}, figure(rate)));
}

function throttled(k: HotKey): HTMLElement | false {
  return k.throttled_at !== undefined && h("div", { class: "quiet" }, `Last throttled ${ago(k.throttled_at)}`);
}
