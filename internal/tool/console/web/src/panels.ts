import { get, Problem } from "./api";
import { fill, h } from "./dom";
import { ago, count, cut, visible } from "./text";
import type { BoardOutputBody, CounterValue } from "./types";

/** Panel is a section of the page that each poll refreshes. */
export interface Panel {
  element: HTMLElement;
  poll(signal: AbortSignal): Promise<void>;
}

export function panel(title: string, ...body: HTMLElement[]): HTMLElement {
  const id = "panel-" + title.replace(/\W+/g, "-").toLowerCase();
  return h("section", { class: "panel", "aria-labelledby": id }, h("div", { class: "head" }, h("h2", { id }, title)), ...body);
}

/** failed shows an error in a panel. */
export function failed(place: HTMLElement, fault: unknown): void {
  const text = fault instanceof Problem ? (fault.status === 0 ? "Disconnected" : `${fault.title}${fault.detail ? ": " + fault.detail : ""}`) : String(fault);
  fill(place, h("p", { class: "quiet" }, text));
}

/** named returns a panel with a form for a name, and the data that read returns for it. The tab keeps the name. */
function named(title: string, what: string, read: (name: string, signal: AbortSignal) => Promise<HTMLElement>): Panel {
  const id = what.replace(/\W+/g, "-");
  const input = h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", maxlength: "512" });
  const answer = h("div", { "aria-live": "polite" });
  try {
    input.value = sessionStorage.getItem(id) ?? "";
  } catch {
    // Storage is blocked: the name is lost on reload.
  }
  const made: Panel = {
    element: panel(title, h("form", { class: "ask" }, h("label", { for: id }, what), input, h("button", { type: "submit" }, "Show")), answer),
    async poll(signal) {
      const name = input.value;
      if (name === "") return fill(answer);
      try {
        const found = await read(name, signal);
        if (input.value === name) fill(answer, found);
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
      // Storage is blocked: the name is lost on reload.
    }
    void made.poll(new AbortController().signal);
  });
  return made;
}

/** counter returns the panel with a counter's eventual and strong value. */
export function counter(): Panel {
  return named("Counter", "Name of a counter", async (name, signal) => {
    const ask = (consistency: string) => get<CounterValue>("/v1/counters", { name, consistency }, signal);
    const [eventual, strong] = await Promise.all([ask("eventual"), ask("strong")]);
    const number = (v: number) => v.toLocaleString("en-US");
    const [summary, sum] = [Number(eventual.value), Number(strong.value)]; // the call fails if a single counter has no value
    const behind = sum - summary;
    return h("table", { class: "facts" }, h("tbody", {},
      h("tr", {}, h("th", { scope: "row" }, "Eventual"), h("td", {}, number(summary)), h("td", { class: "quiet" }, `summary, as of ${ago(eventual.as_of)}`)),
      h("tr", {}, h("th", { scope: "row" }, "Strong"), h("td", {}, number(sum)), h("td", { class: "quiet" }, `sum of ${count(strong.shards, "write shard")}`)),
      h("tr", {}, h("th", { scope: "row" }, "Lag"), h("td", {}, number(behind)), h("td", { class: "quiet" }, behind === 0 ? "fully aggregated" : "not yet aggregated"))));
  });
}

/** board returns the panel with the first ten places of a leaderboard. */
export function board(): Panel {
  return named("Leaderboard", "Name of a board", async (name, signal) => {
    const answer = await get<BoardOutputBody>("/v1/leaderboards", { board: name, limit: "10" }, signal);
    if (answer.entries.length === 0) return h("p", { class: "quiet" }, "No entries yet.");
    return h("div", {},
      h("table", { class: "facts" },
        h("thead", {}, h("tr", {}, ...["Rank", "Player", "Score"].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", {}, ...answer.entries.map((e) => h("tr", {}, h("td", {}, String(e.rank)), h("td", { title: visible(e.player) }, h("bdi", {}, cut(visible(e.player), 28))), h("td", {}, e.score.toLocaleString("en-US")))))),
      h("p", { class: "quiet" }, `as of ${ago(answer.as_of)}`));
  });
}
