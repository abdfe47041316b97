import type { Scale } from "./scale";

/** Zoom is the visible part of the map. Times are in ms. A zoom that follows keeps its length and ends now. */
export interface Zoom {
  from: number;
  to: number;
  follows: boolean;
  rows: [number, number]; // of the height, 0 to 1
}

/** whole returns the zoom that shows everything. */
export function whole(scale: Scale): Zoom {
  return { from: scale.from, to: scale.to, follows: true, rows: [0, 1] };
}

/** fitted limits a zoom to the scale's time; undefined if the result is everything or nothing. */
export function fitted(zoom: Zoom | undefined, scale: Scale): Zoom | undefined {
  if (!zoom) return undefined;
  const length = Math.min(zoom.to - zoom.from, scale.span);
  const to = zoom.follows ? scale.to : Math.min(zoom.to, scale.to);
  const from = zoom.follows ? to - length : Math.max(zoom.from, scale.from);
  if (to - from < 1000) return undefined;
  const [top, bottom] = zoom.rows;
  const all = from <= scale.from && to >= scale.to && top <= 0.001 && bottom >= 0.999;
  return all ? undefined : { ...zoom, from, to };
}

/** narrowed multiplies a zoom's time by a factor, around its middle. */
export function narrowed(zoom: Zoom, scale: Scale, factor: number): Zoom {
  const length = Math.max(2 * scale.step, Math.min(scale.span, (zoom.to - zoom.from) * factor));
  const middle = (zoom.from + zoom.to) / 2;
  const from = Math.min(Math.max(scale.from, middle - length / 2), scale.to - length);
  return { ...zoom, from, to: from + length, follows: from + length >= scale.to };
}

/** written formats a zoom for the address: last-120 or 1763899800-1763899920, then rows in per mille, such as ~0-500. */
export function written(zoom: Zoom | undefined): string {
  if (!zoom) return "";
  const time = zoom.follows ? `last-${Math.round((zoom.to - zoom.from) / 1000)}` : `${Math.round(zoom.from / 1000)}-${Math.round(zoom.to / 1000)}`;
  const [top, bottom] = zoom.rows.map((r) => Math.round(r * 1000)) as [number, number];
  return top === 0 && bottom === 1000 ? time : `${time}~${top}-${bottom}`;
}

/** read parses a zoom that written formatted; undefined if the text is invalid. */
export function read(text: string): Zoom | undefined {
  const found = /^(last|\d+)-(\d+)(?:~(\d+)-(\d+))?$/.exec(text);
  if (!found) return undefined;
  const follows = found[1] === "last";
  const to = Number(found[2]) * 1000;
  const rows: [number, number] = found[3] === undefined ? [0, 1] : [Number(found[3]) / 1000, Math.min(1, Number(found[4]) / 1000)];
  const zoom = { from: follows ? 0 : Number(found[1]) * 1000, to, follows, rows };
  return zoom.to > zoom.from && rows[1] > rows[0] ? zoom : undefined;
}
