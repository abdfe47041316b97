import { fill, h } from "./dom";
import { metrics, type Picture } from "./picture";
import { paint, place } from "./scale";
import { figure, percent } from "./text";

/** legend fills an element with the explanation of a picture's brightness, signs, layers and hatching. */
export function legend(at: HTMLElement, p: Picture): void {
  const { gain, metric } = p.look;
  const counts = metric === "throttled";
  const top = p.brightest / gain; // the value of the brightest colour
  const ticks = counts ? [0.1, 0.4, 1].map((s) => ({ share: s, text: figure(top * s) })) : shares(p).map((s) => ({ share: s * gain, text: percent(s) }));
  fill(at, h("div", { class: "legend" },
    h("div", { class: "ramp", "data-at": "ramp" }, ramp(), h("div", { class: "ticks" }, ...ticks.map(tick))),
    h("span", { class: "quiet" }, counts ? "throttled writes/s" : `of a partition's ${figure(p.heat.partition_wcu)} WCU/s · brightness: ${metrics[metric].means}`),
    h("span", {}, h("b", { class: "hot" }, "▲"), ` hot: ${figure(p.heat.hot_wcu)} WCU/s or more`),
    h("span", {}, h("b", { class: "saturated" }, "■"), " saturated: at the limit"),
    h("span", {}, h("b", { class: "cooled" }, "▽"), " was hot, has cooled"),
    p.lines.some((l) => l.row.type !== undefined) && h("span", {}, h("i", { class: "mark-change" }), h("b", { class: "change" }, " ◆"), " shard count changed"),
    p.throttled !== undefined && h("span", {}, h("i", { class: "mark-throttled" }), " throttled writes"),
    h("span", {}, h("i", { class: "idle" }), " idle"),
    h("span", {}, h("i", { class: "hatch" }), " No data")));
}

/** shares returns the shares of the limit at which the ramp has ticks. */
function shares(p: Picture): number[] {
  const hot = p.heat.hot_wcu / p.heat.partition_wcu;
  const most = 1 / p.look.gain;
  return [0.01 * most, 0.1 * most, 0.3 * most, ...(p.look.gain === 1 ? [hot] : []), most];
}

function tick({ share, text }: { share: number; text: string }): HTMLElement {
  const made = h("span", {}, text);
  made.style.left = `${place(share) * 100}%`;
  return made;
}

/** ramp draws the colour scale from dark to bright. */
function ramp(): HTMLElement {
  const [width, height] = [220, 10];
  const strip = h("canvas", { width: String(width), height: String(height), class: "scale", "aria-hidden": "true" });
  const c = strip.getContext("2d")!;
  for (let x = 0; x < width; x++) {
    c.fillStyle = `rgb(${paint(((x + 1) / width) ** 2).join()})`;
    c.fillRect(x, 0, 1, height);
  }
  return strip;
}
