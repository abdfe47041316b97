import { type Line, type Picture, prominent } from "./picture";
import { lineLabel } from "./words";

const strip = 74; // height of the strip above the map, in pixels
const lane = 16; // height of the markers' lane below the strip
const tall = 20; // height of a line with a name, if it fits
const tallest = 24; // maximum height of a line
const shardHeight = 14; // height of a write shard's line, if there are few
const shardsHeight = 900; // maximum height of all write shards of a row

/** under is the height of the axis and the slider below the map. */
export const under = 58;

/** Layout has the positions of the map's lines, in pixels. */
export interface Layout {
  strip: number; // height of the strip
  lane: number; // top of the markers
  top: number; // top of the cells
  height: number; // height of all cells
  edges: number[]; // upper edges of the lines below the cells' top, then the last line's lower edge
  gutter: number; // width of the names
  right: number; // margin
}

/** layout computes the height of each line. Unfolded rows make the map higher. */
export function layout(p: Picture, width: number, window: number): Layout {
  const narrow = width < 600;
  const named = prominent(p);
  const room = (narrow ? 460 : Math.min(760, Math.max(420, 0.64 * window))) - strip - lane - under;
  const edges = [0];
  const heights = lineHeights(p, named, room);
  for (const high of heights) edges.push(edges.at(-1)! + high);
  const height = Math.max(60, edges.at(-1)!);
  return { strip, lane: strip, top: strip + lane, height, edges, gutter: gutter(named, narrow), right: narrow ? 14 : 36 };
}

function lineHeights(p: Picture, named: Set<Line>, room: number): number[] {
  const rows = p.lines.filter((l) => !l.parent);
  const tallRows = rows.filter((l) => named.has(l)).length;
  const high = Math.min(tall, (0.6 * room) / Math.max(1, tallRows));
  const others = Math.min(tallest, Math.max(0.5, (room - high * tallRows) / Math.max(1, rows.length - tallRows)));
  return p.lines.map((line) => {
    if (line.parent) return Math.min(shardHeight, shardsHeight / p.lines.filter((l) => l.parent === line.parent).length);
    return named.has(line) ? (others > tall ? others : high) : others;
  });
}

/** gutter returns the width of the names, within bounds. */
function gutter(named: Set<Line>, narrow: boolean): number {
  if (narrow) return 104;
  const longest = Math.max(0, ...[...named].map((line) => lineLabel(line, 40).length + (line.parent ? 1 : 0)));
  return Math.min(260, Math.max(120, 40 + 6.7 * longest));
}

/** lineAt returns the index of the line at y below the cells' top; -1 if there is none. */
export function lineAt(edges: number[], y: number): number {
  const next = edges.findIndex((edge) => y < edge);
  return next - 1;
}
