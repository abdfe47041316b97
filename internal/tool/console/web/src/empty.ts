// Notices for the map: nothing to draw, and how current the data is.
import { go } from "./address";
import { at, command, h } from "./dom";
import { ago, percent, quoted, visible } from "./text";
import type { About, Matrix } from "./types";

/** program returns the program name to use in commands for this server, such as bin/hotshard. */
function program(about: About): string {
  return about.command.split(" shards set")[0] || "hotshard";
}

/** noMatch is the notice that no key matches the filter. */
export function noMatch(filter: string): HTMLElement {
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No key matches. "), "No key with writes in this time range contains ", h("bdi", { class: "key" }, visible(filter)), "."),
    h("button", { type: "button", onclick: (() => go({ filter: "" })) as EventListener }, "Clear filter"));
}

/** noHeat is the notice that nothing was written, with a command that generates load. */
export function noHeat(about: About, heat: Matrix): HTMLElement {
  if (about.file) return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No writes "), `were read. ${about.file.coverage}`));
  const what = " nothing was written in this time range. Writes appear some seconds later, when their window is complete.";
  if (about.mode === "local") {
    return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet:"), what, heat.partition_wcu > 0 && heat.partition_wcu < 1000 ? " To heat a counter:" : " To see a key heat up and cool:"), command(heating(about, limited(about, heat))));
  }
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "No heat yet:"), what, about.table ? ` Only writes to ${visible(about.table)} count.` : ""),
    h("p", { class: "quiet" }, "A longer time range may have heat: ", h("button", { type: "button", class: "small", onclick: (() => go({ range: "24h", from: "", to: "" })) as EventListener }, "24 h")));
}

/** limited reports whether the local system throttles, so that load makes a key hot. */
function limited(about: About, heat?: Matrix): boolean {
  return about.demo !== undefined || /--(partitions|partition-wcu)\b/.test(about.start) || (heat !== undefined && heat.partition_wcu > 0 && heat.partition_wcu < 1000);
}

/** heating returns a command that makes a key hot: load if this server has a limiter, else the demo, which has its own. */
function heating(about: About, here: boolean): string {
  if (here) return `${program(about)} load --workload viral --rate 200 --count 6000 --concurrency 200 --target ${quoted(location.origin)}`;
  return `${program(about)} demo --addr 127.0.0.1:${Number(location.port || 80) + 10}`;
}

/** steps returns the panel for newcomers. */
export function steps(about: About): DocumentFragment {
  const part = at<HTMLTemplateElement>("first-steps").content.cloneNode(true) as DocumentFragment;
  for (const code of part.querySelectorAll("pre code")) code.textContent = (code.textContent ?? "").replaceAll("http://127.0.0.1:8080", location.origin).replace("HEATING", heating(about, limited(about)));
  return part;
}

/** freshness is the line with the data's age, and the share of the range that was read if it is below 98%; or a file's coverage. */
export function freshness(about: About, heat: Matrix, known: number): HTMLElement {
  if (about.file) return h("p", { id: "coverage" }, about.file.coverage);
  const parts = [heat.as_of ? `Newest complete window: ${ago(heat.as_of)}` : "", known < 0.98 ? `data for ${percent(known)} of this range` : ""].filter(Boolean);
  return h("p", { class: "quiet fresh" }, parts.join(" · "));
}
