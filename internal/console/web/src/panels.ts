import { get, Problem } from "./api";
import { fill, h } from "./dom";
import { hot, link, mark } from "./heat";
import { ago, cut, figure, visible } from "./text";
import type { About, Board, Counter, HotKey, Reader } from "./types";

/** Panel is a part of the page that is asked for anew with each poll. */
export interface Panel {
  element: HTMLElement;
  poll(signal: AbortSignal): Promise<void>;
}

const shown = 50; // hot keys, at most: more would be a list that nobody reads
const warm = 5; // of those that are not hot

function panel(title: string, ...body: HTMLElement[]): HTMLElement {
  const id = "panel-" + title.replace(/\W+/g, "-").toLowerCase();
  return h("section", { class: "panel", "aria-labelledby": id }, h("div", { class: "head" }, h("h2", { id }, title)), ...body);
}

/** failed says in a panel why it has nothing to show. */
function failed(place: HTMLElement, fault: unknown): void {
  const text = fault instanceof Problem ? (fault.status === 0 ? "No answer." : `${fault.title}${fault.detail ? ": " + fault.detail : ""}`) : String(fault);
  fill(place, h("p", { class: "quiet" }, text));
}

/** hotKeys lists the keys that GET /v1/hot-keys names, with what to do about each. */
export function hotKeys(about: About): Panel {
  const list = h("div", {}, h("p", { class: "quiet" }, "…"));
  return {
    element: panel("Hot keys now", list),
    async poll(signal) {
      try {
        const { keys } = await get<{ keys: HotKey[] }>("/v1/hot-keys", { since: "15m", limit: "20" }, signal);
        const burning = keys.filter(hot);
        const heavy = keys.filter((k) => !hot(k)).slice(0, Math.max(0, warm - burning.length));
        fill(list,
          burning.length === 0 && h("p", { class: "quiet" }, "None in the last 15 minutes." + (heavy.length ? " The heaviest:" : "")),
          h("ol", { class: "hot-list" }, ...[...burning.slice(0, shown), ...heavy].map((k) => hotKey(k, about))),
          burning.length > shown && h("p", { class: "quiet" }, `and ${figure(burning.length - shown)} more, less hot`));
      } catch (fault) {
        if (!signal.aborted) failed(list, fault);
      }
    },
  };
}

function hotKey(k: HotKey, about: About): HTMLElement {
  const sharded = about.mode !== "table" && k.type !== "other";
  return h("li", {},
    h("div", { class: "line" },
      h("span", { class: "sign " + k.status }, mark[k.status]),
      h("a", { href: link(k), title: visible(k.key), "data-at": `hot ${k.index ?? ""} ${k.key}` }, h("bdi", { class: "key" }, cut(visible(k.key), 42))),
      h("span", { class: "rate" }, `${figure(k.write_units_per_second)}/s`)),
    h("div", { class: "quiet" }, [hot(k) ? k.status : "", k.index && `index ${visible(k.index)}`, k.error > 0 && `at most ${figure(k.error)} more`, sharded && `N = ${k.shards}`].filter(Boolean).join(" · ")),
    hot(k) ? h("div", { class: "advice" }, visible(k.advice)) : null);
}

/** named is a panel about one thing that a person names; the name stays in this tab. */
function named(title: string, what: string, read: (name: string, signal: AbortSignal) => Promise<HTMLElement>): Panel {
  const id = what.replace(/\W+/g, "-");
  const input = h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", maxlength: "512" });
  const answer = h("div", { "aria-live": "polite" });
  try {
    input.value = sessionStorage.getItem(id) ?? "";
  } catch {
    // The tab keeps nothing.
  }
  const made: Panel = {
    element: panel(title, h("form", { class: "ask" }, h("label", { for: id }, what), input, h("button", { type: "submit" }, "Show")), answer),
    async poll(signal) {
      const name = input.value;
      if (name === "") return fill(answer);
      try {
        const shown = await read(name, signal);
        if (input.value === name) fill(answer, shown);
      } catch (fault) {
        if (!signal.aborted) failed(answer, fault);
      }
    },
  };
  made.element.querySelector("form")!.addEventListener("submit", (e) => {
    e.preventDefault();
    try {
      sessionStorage.setItem(id, input.value);
    } catch {
      // The tab keeps nothing.
    }
    void made.poll(new AbortController().signal);
  });
  return made;
}

/** counter shows a counter as its summary has it, beside the sum of its write shards. */
export function counter(): Panel {
  return named("Counter", "Name of a counter", async (name, signal) => {
    const ask = (consistency: string) => get<Counter>("/v1/counters", { name, consistency }, signal);
    const [eventual, strong] = await Promise.all([ask("eventual"), ask("strong")]);
    const number = (v: number | string) => v.toLocaleString("en-US");
    const behind = Number(strong.value) - Number(eventual.value);
    return h("table", { class: "facts" }, h("tbody", {},
      h("tr", {}, h("th", { scope: "row" }, "eventual"), h("td", {}, number(eventual.value)), h("td", { class: "quiet" }, `summary, as of ${ago(eventual.as_of)}`)),
      h("tr", {}, h("th", { scope: "row" }, "strong"), h("td", {}, number(strong.value)), h("td", { class: "quiet" }, `sum of ${strong.shards} write shard${strong.shards === 1 ? "" : "s"}`)),
      h("tr", {}, h("th", { scope: "row" }, "between"), h("td", {}, number(behind)), h("td", { class: "quiet" }, behind === 0 ? "none: all is folded" : "not yet folded"))));
  });
}

/** board shows the first places of a leaderboard. */
export function board(): Panel {
  return named("Leaderboard", "Name of a board", async (name, signal) => {
    const answer = await get<Board>("/v1/leaderboards", { board: name, limit: "10" }, signal);
    if (answer.entries.length === 0) return h("p", { class: "quiet" }, "It has no entries yet.");
    return h("div", {},
      h("table", { class: "facts" },
        h("thead", {}, h("tr", {}, ...["rank", "player", "score"].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", {}, ...answer.entries.map((e) => h("tr", {}, h("td", {}, String(e.rank)), h("td", { title: visible(e.player) }, h("bdi", {}, cut(visible(e.player), 28))), h("td", {}, e.score.toLocaleString("en-US")))))),
      h("p", { class: "quiet" }, `as of ${ago(answer.as_of)}`));
  });
}

const late = 30; // seconds behind the stream, from which on a reader is not well

/** pipeline shows whether the API answers, and how far the stream's readers are. */
export function pipeline(): Panel {
  const body = h("div", {}, h("p", { class: "quiet" }, "…"));
  const row = (name: string, fault: string, says: string) => h("tr", {}, h("th", { scope: "row" }, visible(name)), h("td", { class: fault ? "bad" : "good" }, fault ? `✗ ${fault}` : "✓ ok"), h("td", { class: "quiet" }, says));
  return {
    element: panel("Pipeline", body),
    async poll(signal) {
      const [health, known] = await Promise.allSettled([get<{ status: string }>("/healthz", {}, signal), get<{ readers: Reader[] | null }>("/console/pipeline", {}, signal)]);
      if (signal.aborted) return;
      const up = health.status === "fulfilled";
      const readers = known.status === "fulfilled" ? known.value.readers ?? [] : [];
      fill(body, h("table", { class: "facts" }, h("tbody", {},
        row("API", up ? "" : "no answer", "/healthz"),
        ...readers.map((r) => row(r.name, r.given_up > 0 ? "gave up" : (r.lag_seconds ?? 0) > late ? "behind" : "", [
          r.lag_seconds === undefined ? "has not caught up yet" : `${figure(r.lag_seconds)} s behind the stream`, r.given_up > 0 && `${figure(r.given_up)} records given up`,
        ].filter(Boolean).join(" · "))))),
      readers.length === 0 && h("p", { class: "quiet" }, "How far the stream's readers are is not known here: see the functions' alarms and logs."));
    },
  };
}
