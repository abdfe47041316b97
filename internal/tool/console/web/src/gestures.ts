// Pointer and keyboard events of the map.
import type { HeatMap, Point } from "./map";
import { above, type Place } from "./tip";

/** gestures adds the map's event handlers: hovering shows the tip, a click opens a key, dragging zooms. */
export function gestures(map: HeatMap): void {
  map.place.addEventListener("keydown", (e) => key(map, e));
  map.place.addEventListener("blur", () => map.leave());
  pointer(map);
}

function key(map: HeatMap, e: KeyboardEvent): void {
  const { picture: p } = map;
  if (!p || e.ctrlKey || e.metaKey || e.altKey) return;
  const next = moved(map, e.key);
  const line = p.lines[map.cursor.line];
  if (next) map.showTip(next, true);
  else if (e.key === "+" || e.key === "=") map.narrow(0.5);
  else if (e.key === "-") map.narrow(2);
  else if (e.key === "0") map.zoomTo(undefined);
  else if (e.key === "Escape" && map.tip.open) map.leave();
  else if (e.key === "Enter" && line) map.on.open?.(line);
  else if (e.key === " " && line?.unfolds) map.on.unfold?.(line);
  else return;
  e.preventDefault();
}

/** moved returns the place to which a keyboard key moves the cursor; undefined if the key moves nothing. */
function moved(map: HeatMap, key: string): Place | undefined {
  const [last, end] = [map.picture!.lines.length - 1, map.picture!.scale.columns - 1];
  const { line, column } = map.cursor;
  const to = (line: number): Place => ({ line: Math.max(column < 0 ? 0 : above, Math.min(last, line)), column });
  switch (key) {
    case "ArrowDown": return to(line + (map.tip.open ? 1 : 0));
    case "ArrowUp": return to(line - 1);
    case "PageDown": return to(line + 10);
    case "PageUp": return to(Math.max(0, line - 10));
    case "Home": return to(0);
    case "End": return to(last);
    case "ArrowRight": return { line, column: Math.min(end, column + 1) };
    case "ArrowLeft": return { line, column: Math.max(line === above ? 0 : -1, column - 1) };
  }
  return undefined;
}

function pointer(map: HeatMap): void {
  const { place } = map;
  let pressed: Point | undefined;
  const where = (e: MouseEvent): Point => {
    const box = place.getBoundingClientRect();
    return { x: e.clientX - box.x, y: e.clientY - box.y };
  };
  place.addEventListener("pointermove", (e) => {
    const to = where(e);
    if (pressed && Math.hypot(to.x - pressed.x, to.y - pressed.y) > 5) return brush(map, pressed, to);
    hover(map, to);
  });
  place.addEventListener("pointerleave", () => pressed || map.leave());
  place.addEventListener("pointerdown", (e) => {
    const from = where(e);
    const at = map.at(from);
    pressed = e.pointerType === "mouse" && e.button === 0 && at && at.column >= 0 && at.line !== above ? from : undefined;
    if (pressed) place.setPointerCapture(e.pointerId);
  });
  place.addEventListener("pointerup", (e) => {
    if (!map.brush.hidden && pressed) frameTo(map, pressed, where(e));
    pressed = undefined;
  });
  let framed = false; // the click that ends a drag opens nothing
  place.addEventListener("pointerup", () => (framed = !map.brush.hidden), { capture: true });
  let opening: ReturnType<typeof setTimeout> | undefined; // on a zoomed map a click waits for a possible double-click
  place.addEventListener("click", (e) => {
    if (framed) return void (framed = false);
    clearTimeout(opening);
    opening = setTimeout(() => click(map, where(e), (e as PointerEvent).pointerType), map.zoomed ? 250 : 0);
  });
  place.addEventListener("dblclick", () => {
    clearTimeout(opening);
    map.zoomTo(undefined);
  });
}

function hover(map: HeatMap, to: Point): void {
  const at = map.at(to);
  map.place.classList.toggle("opens", at !== undefined && at.line !== above && (at.column < 0 || map.disclosure(to) !== undefined));
  if (!at) return map.leave();
  if (!map.tip.open || at.line !== map.cursor.line || at.column !== map.cursor.column) map.showTip(at, false);
}

function click(map: HeatMap, to: Point, type: string): void {
  const unfolds = map.disclosure(to);
  if (unfolds) return map.on.unfold?.(unfolds);
  const at = map.at(to);
  const line = at && map.picture!.lines[at.line];
  if (!at || !line) return;
  const known = map.tip.open && at.line === map.cursor.line;
  if (type === "touch" && !known) return map.showTip(at, false);
  map.on.open?.(line);
}

function brush(map: HeatMap, from: Point, to: Point): void {
  map.leave();
  map.brush.hidden = false;
  Object.assign(map.brush.style, {
    left: `${Math.min(from.x, to.x)}px`, top: `${Math.min(from.y, to.y)}px`, width: `${Math.abs(from.x - to.x)}px`, height: `${Math.abs(from.y - to.y)}px`,
  });
}

/** frameTo zooms to a rectangle. It ignores an axis along which the rectangle has at most 8 pixels. */
function frameTo(map: HeatMap, a: Point, b: Point): void {
  const [first, last] = [map.value({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y) }), map.value({ x: Math.max(a.x, b.x), y: Math.max(a.y, b.y) })];
  const time = Math.abs(a.x - b.x) > 8 ? { from: first.x, to: last.x, follows: last.x >= map.picture!.scale.to } : {};
  const rows = Math.abs(a.y - b.y) > 8 ? { rows: [map.share(first.y), map.share(last.y)] as [number, number] } : {};
  map.zoomTo({ ...map.shown(), ...time, ...rows });
}
