import { h } from "./dom";
import { mark, paint, place } from "./heat";
import { figure, percent } from "./text";
import type { Heat } from "./types";

/** legend explains brightness, the signs, and what is hatched. */
export function legend(heat: Heat, estimates = false): HTMLElement {
  const [width, height] = [220, 10];
  const strip = h("canvas", { width: String(width), height: String(height), class: "scale", "aria-hidden": "true" });
  const c = strip.getContext("2d")!;
  for (let x = 0; x < width; x++) {
    c.fillStyle = `rgb(${paint(((x + 1) / width) ** 2).join()})`;
    c.fillRect(x, 0, 1, height);
  }
  const threshold = heat.hot_wcu / heat.partition_wcu;
  const ticks = h("div", { class: "ticks" });
  for (const share of [0.01, 0.1, 0.3, threshold, 1]) {
    const tick = h("span", {}, percent(share));
    tick.style.left = `${place(share) * 100}%`;
    ticks.append(tick);
  }
  return h("div", { class: "legend" },
    h("div", { class: "ramp" }, strip, ticks),
    h("span", { class: "quiet" }, `of the ${figure(heat.partition_wcu)} write units a second that a partition takes`),
    h("span", {}, h("b", { class: "hot" }, mark.hot), ` hot: ${figure(heat.hot_wcu)}/s or more`),
    h("span", {}, h("b", { class: "saturated" }, mark.saturated), " saturated: at the limit"),
    h("span", {}, h("i", { class: "hatch" }), estimates ? " not read" : " not read, or in part; or nothing written at all"));
}
