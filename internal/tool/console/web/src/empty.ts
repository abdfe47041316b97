// What the map's place says while there is nothing to draw.
import { go } from "./address";
import { at, command, h } from "./dom";
import { ago, percent, quoted, visible } from "./text";
import type { About, Matrix } from "./types";

/** program is how the command line is called in commands for this server. */
function program(about: About): string {
  return about.command.split(" shards set")[0] || "hotshard";
}

/** noMatch tells that no key matches the filter. */
export function noMatch(filter: string): HTMLElement {
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No key matches. "), "No key that was written in this time contains ", h("bdi", { class: "key" }, visible(filter)), "."),
    h("button", { type: "button", onclick: (() => go({ filter: "" })) as EventListener }, "Clear filter"));
}

/** noHeat tells that nothing was written, and how to make heat. */
export function noHeat(about: About, heat: Matrix): HTMLElement {
  const what = " nothing was written in this time. Writes appear when their window is complete, some seconds later.";
  if (about.mode === "local") {
    return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet:"), what, heat.partition_wcu > 0 && heat.partition_wcu < 1000 ? " To heat a counter:" : " To see a key heat up and cool:"), command(heating(about, limited(about, heat))));
  }
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet:"), what, about.table ? ` Only writes to ${visible(about.table)} count.` : ""),
    h("p", { class: "quiet" }, "A longer range may have some: ", h("button", { type: "button", class: "small", onclick: (() => go({ range: "24h", from: "", to: "" })) as EventListener }, "24 h")));
}

/** limited reports whether the local system throttles, so that load on it makes heat. */
function limited(about: About, heat?: Matrix): boolean {
  return /--(partitions|partition-wcu)\b/.test(about.start) || (heat !== undefined && heat.partition_wcu > 0 && heat.partition_wcu < 1000);
}

/** heating is a command that makes a key hot. Without a limiter here, the demo brings its own. */
function heating(about: About, here: boolean): string {
  if (here) return `${program(about)} load --workload viral --rate 200 --count 6000 --concurrency 200 --no-keyed --board '' --target ${quoted(location.origin)}`;
  return `${program(about)} demo --addr 127.0.0.1:${Number(location.port || 80) + 10}`;
}

/** steps tells a newcomer where to begin. */
export function steps(about: About): DocumentFragment {
  const part = at<HTMLTemplateElement>("first-steps").content.cloneNode(true) as DocumentFragment;
  for (const code of part.querySelectorAll("pre code")) code.textContent = (code.textContent ?? "").replaceAll("http://127.0.0.1:8080", location.origin).replace("HEATING", heating(about, limited(about)));
  return part;
}

/** freshness tells how new the picture is, and how much of the range was read, if not all. */
export function freshness(heat: Matrix, known: number): HTMLElement {
  const parts = [heat.as_of ? `Updated ${ago(heat.as_of)}` : "", known < 0.98 ? `data for ${percent(known)} of this range` : ""].filter(Boolean);
  return h("p", { class: "quiet fresh" }, parts.join(" · "));
}
