// The console: a header, and below it the overview or a key's page.
import { address, chosenTime, ended } from "./address";
import { get, inFile } from "./api";
import { at, fill, h } from "./dom";
import { faultNotice } from "./faults";
import { KeyPage } from "./key";
import { Overview } from "./overview";
import { Pace, pollInterval } from "./pace";
import { moment, visible } from "./text";
import { themed } from "./theme";
import type { About } from "./types";

/** View is the overview or a key's page. */
interface View {
  /** poll reads and shows the data. It returns the end of the newest complete window, if there is one. */
  poll(signal: AbortSignal): Promise<string | undefined>;
  /** changed applies a change of the address. It returns false if the address names another view. */
  changed(): boolean;
  end(): void;
}

let about: About = { mode: "local", where: "", command: "", start: "", version: "" };
let view: View | undefined;
let paused = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | undefined;
const pace = new Pace();

function connected(state: string): void {
  at("state").textContent = state;
  at("state").dataset["state"] = state.toLowerCase();
}

/** once polls the view now and schedules the next poll. */
async function once(): Promise<void> {
  clearTimeout(timer);
  running?.abort();
  const mine = (running = new AbortController());
  let wait = pollInterval;
  try {
    wait = pace.next(await view?.poll(mine.signal));
    if (!mine.signal.aborted && !inFile) connected(paused ? "Paused" : "Live");
  } catch (fault) {
    if (mine.signal.aborted) return;
    connected("Disconnected");
    const place = document.getElementById("notice");
    if (place) fill(place, faultNotice(fault, about));
  }
  if (!mine.signal.aborted && !inFile && !paused && !document.hidden && !ended(chosenTime())) timer = setTimeout(() => void once(), wait);
}

function show(): void {
  const { path, query } = address();
  if (!view?.changed()) {
    view?.end();
    const name = query.get("name") ?? query.get("key") ?? "";
    document.title = path === "/key" ? `${visible(name).slice(0, 60)} – hotshard` : "hotshard";
    view = path === "/key" ? new KeyPage(query, about) : new Overview(about);
  }
  void once();
}

function pause(): void {
  paused = !paused;
  at("pause").textContent = paused ? "Resume" : "Pause";
  at("pause").setAttribute("aria-pressed", String(paused));
  connected(paused ? "Paused" : "Live");
  if (!paused) return void once();
  clearTimeout(timer);
  running?.abort();
}

/** help makes its button, and ? outside text fields, open the keyboard help. */
function help(): void {
  const dialog = at<HTMLDialogElement>("help");
  at("help-open").addEventListener("click", () => dialog.showModal());
  addEventListener("keydown", (e) => {
    const typing = e.target instanceof HTMLInputElement && ["text", "search", "number", "datetime-local"].includes(e.target.type);
    if (e.key !== "?" || typing || e.ctrlKey || e.metaKey || e.altKey) return;
    dialog.open ? dialog.close() : dialog.showModal();
    e.preventDefault();
  });
}

async function start(): Promise<void> {
  themed(at("theme"));
  help();
  document.querySelector(".skip")!.addEventListener("click", (e) => {
    e.preventDefault(); // the fragment is the console's address
    at("main").focus();
  });
  at("pause").hidden = inFile;
  at("pause").addEventListener("click", pause);
  document.addEventListener("visibilitychange", () => (document.hidden || paused || inFile ? clearTimeout(timer) : void once()));
  try {
    about = await get<About>("/console/about");
  } catch (fault) {
    fill(at("main"), h("div", { id: "notice" }, faultNotice(fault, about)));
    setTimeout(() => location.reload(), 3000);
    return;
  }
  const what = about.mode === "table" ? `table ${visible(about.table ?? "")}` : about.mode;
  at("where").textContent = [what, visible(about.where), /^v?\d/.test(about.version) ? about.version : ""].filter(Boolean).join(" · ");
  if (about.file) at("state").textContent = `File made ${moment(about.file.made)}; it does not change`;
  addEventListener("hashchange", show);
  show();
}

void start();
