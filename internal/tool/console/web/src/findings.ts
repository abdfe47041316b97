import { get } from "./api";
import { copier, fill, h } from "./dom";
import { failed, type Panel } from "./panels";
import { count, cut, figure, percent, visible } from "./text";
import type { KeyRate, ThrottleFinding, ThrottleReport } from "./types";

const age = 60_000; // ms: the server's answer is up to a minute old, too
const shownKeys = 5;

/** why returns the panel that unfolds to the findings of GET /v1/explain. It asks only while it is unfolded. */
export function why(): Panel {
  const body = h("div", { "aria-live": "polite" }, h("p", { class: "quiet" }, "…"));
  const row = h("details", { id: "why", ontoggle: (() => void made.poll(new AbortController().signal)) as EventListener },
    h("summary", {}, h("h2", { id: "panel-why" }, "Throttled: why?")), body);
  let answered = -Infinity;
  let asking = false;
  const made: Panel = {
    element: h("section", { class: "panel", "aria-labelledby": "panel-why" }, row),
    async poll(signal) {
      if (!row.open || asking || performance.now() - answered < age) return;
      asking = true;
      try {
        fill(body, ...findings(await get<ThrottleReport>("/v1/explain", { since: "15m" }, signal), true));
        answered = performance.now();
      } catch (fault) {
        if (!signal.aborted) failed(body, fault);
      } finally {
        asking = false;
      }
    },
  };
  return made;
}

/** findings returns a sentence that sums a report up, an entry for each finding, and the notes. copies adds copy buttons. */
export function findings(r: ThrottleReport, copies: boolean): (HTMLElement | false)[] {
  const minutes = Math.max(1, Math.round((Date.parse(r.to) - Date.parse(r.from)) / 60_000));
  const sum = r.throttles > 0 ? `${count(Math.round(r.throttles), "throttle")} in ${count(minutes, "minute")}.`
    : r.counted ? `Nothing was throttled in ${count(minutes, "minute")}.` : "Whether requests were throttled is unknown: nothing that was read counts throttles.";
  return [
    h("p", {}, sum),
    r.findings.length > 0 && h("ol", { class: "findings", "aria-label": "Reasons" }, ...r.findings.map((f) => finding(f, copies))),
    r.throttles > 0 && r.unknown > 0 && h("p", {}, `${percent(r.unknown)} of the throttles have no known reason.`),
    ...r.notes.map((n) => h("p", { class: "quiet" }, visible(n))),
  ];
}

function finding(f: ThrottleFinding, copies: boolean): HTMLElement {
  const more = f.keys.length - shownKeys;
  return h("li", {},
    h("div", {}, h("b", {}, `${percent(f.share)} ${visible(f.reason)}`), `, ${f.confidence}`),
    h("div", { class: "quiet" }, visible(f.resource.replace(/^.*:table\//, f.scope === "account" ? "account, table " : "table "))),
    f.keys.length > 0 && h("ul", { "aria-label": "Keys" }, ...f.keys.slice(0, shownKeys).map(key), more > 0 && h("li", { class: "quiet" }, `and ${figure(more)} more`)),
    h("div", { class: "advice" }, h("span", {}, visible(f.cure)), copies && copier(() => f.cure, "the cure")),
    h("details", {}, h("summary", { class: "quiet" }, "Evidence"), h("ul", {}, ...f.evidence.map((e) => h("li", {}, `${visible(e.source)}: ${visible(e.text)}`)))));
}

function key(k: KeyRate): HTMLElement {
  const rates = [k.throttles_per_second !== undefined && `${figure(k.throttles_per_second)} throttles/s`, k.write_units_per_second !== undefined && `${figure(k.write_units_per_second)} WCU/s`];
  return h("li", {}, h("bdi", { class: "key", title: visible(k.key) }, cut(visible(k.key), 42)),
    k.sort_key !== undefined && h("span", {}, ", sort key ", h("bdi", { class: "key" }, cut(visible(k.sort_key), 42))), " ", [...rates].filter(Boolean).join(", "));
}
