package hotkey

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// maxSpread is over how many stream shards the heat of a board is found. An entry's
// record comes by the stream shard of its player's partition in the table, so that
// each stream shard counts a part only of what a partition of the index takes. If
// that is hot, then one of so many stream shards at least has counted this part of
// the budget, and asks what the others have counted.
const maxSpread = 64

// boardShare is how many units of one partition of the index, in a window, make a
// stream shard look at a board. While a window runs, the others have not reported
// it, and its own counts must do.
func boardShare(budget float64, running bool) float64 {
	if running {
		return budget
	}
	return max(1, budget/maxSpread)
}

// suspectBoards adds the boards with a partition that took its share.
func (w *window) suspectBoards(found map[string]*suspect, share float64, running bool) {
	if float64(w.indexes.Total()) < share {
		return
	}
	for _, e := range w.indexes.Top(w.indexes.Len()) {
		if float64(e.Low()) < share {
			return
		}
		if b, _, ok := parsePartition(e.Key).board(); ok {
			base := schema.BaseKey{Type: schema.Board, Name: b.board}
			w.suspect(found, base, base.String(), running)
		}
	}
}

// decideBoard asks the policy about a board: by what was counted here, and when the
// window has ended by what all stream shards have reported of it, or of the windows
// before, which more of them have reported.
func (r *run) decideBoard(ctx context.Context, w *window, s *suspect, entry ddb.Entry, streamShard string, now time.Time) Decision {
	policy := r.settings.policy()
	counts := r.counts(w, streamShard)
	counts.own.enter(&s.Evidence)
	d := policy.Answer(s.Evidence, entry, now)
	if s.Running && d.Action == None || s.End.Before(now.Add(-2*w.length)) {
		return d
	}
	if counts.all == nil {
		counts.all = counts.join(w, r.reported(ctx, w))
	}
	for back, all := range counts.all {
		e := s.Evidence
		if back > 0 { // what was sighted then was answered then
			e = Evidence{Base: s.Base, Start: s.Start.Add(-time.Duration(back) * w.length)}
			e.End = e.Start.Add(w.length)
		}
		all.enter(&e)
		if d = policy.Answer(e, entry, now); d.Action != None {
			break
		}
	}
	return d
}

// boardLoads are the rates of the partitions of an index in one window.
type boardLoads struct {
	boards map[string]map[string]map[int]Load // by board, period and write shard
	rest   float64                            // at most so much went to any other
}

// loadsOf puts together what items of one window say.
func loadsOf(items []heat.Item) boardLoads {
	out := boardLoads{boards: make(map[string]map[string]map[int]Load)}
	for _, item := range items {
		out.rest += float64(item.IndexRest) / item.Window.Seconds()
	}
	for _, row := range heat.Merge(items) {
		b, period, ok := partition{row.Index, row.Key}.board()
		if !ok {
			continue
		}
		periods := out.boards[b.board]
		if periods == nil {
			periods = make(map[string]map[int]Load)
			out.boards[b.board] = periods
		}
		if periods[period] == nil {
			periods[period] = make(map[int]Load)
		}
		periods[period][b.n] = Load{
			Low: row.WriteUnitsPerSecond, High: row.WriteUnitsPerSecond + row.Error, Peak: float64(row.Peak), PeakAt: row.PeakAt,
		}
	}
	return out
}

// enter has the evidence rest on the board's hottest period, and mind the others'
// rate: all have as many write shards, on the same partitions of the index.
func (l boardLoads) enter(e *Evidence) {
	e.Rest, e.Shards, e.Beside = l.rest, nil, Load{}
	var most Load
	periods := l.boards[e.Base.Name]
	for _, period := range slices.Sorted(maps.Keys(periods)) {
		sum := sumOf(periods[period])
		if e.Shards == nil || sum.Low > most.Low {
			e.Shards, most, sum = periods[period], sum, most
		}
		e.Beside.Low += sum.Low
		e.Beside.Peak += sum.Peak
	}
}

// sumOf adds up rates and heaviest seconds.
func sumOf(shards map[int]Load) (sum Load) {
	for _, load := range shards {
		sum.Low += load.Low
		sum.Peak += max(load.Low, load.Peak)
	}
	return sum
}

// counts are what is known of the index in a window, worked out when first needed.
type counts struct {
	item heat.Item    // as counted here
	own  boardLoads   // the same
	all  []boardLoads // on all stream shards, by how many windows ago; nil until read
}

func (r *run) counts(w *window, streamShard string) *counts {
	if r.windows == nil {
		r.windows = make(map[*window]*counts)
	}
	if r.windows[w] == nil {
		item := w.item(r.settings, streamShard, "")
		r.windows[w] = &counts{item: item, own: loadsOf([]heat.Item{item})}
	}
	return r.windows[w]
}

// join puts together what was counted here and what all stream shards have reported
// of the window, and of each of the two before it.
func (c *counts) join(w *window, reported []heat.Item) []boardLoads {
	windows := [][]heat.Item{{c.item}, nil, nil}
	for _, item := range reported {
		for back := range windows {
			same := item.Window == w.length && item.Start.Equal(w.start.Add(-time.Duration(back)*w.length))
			// What this stream shard has reported of this very part was counted anew.
			mine := back == 0 && item.StreamShard == c.item.StreamShard && (item.Part == "" || item.Part == w.first)
			if same && !mine {
				windows[back] = append(windows[back], item)
			}
		}
	}
	loads := make([]boardLoads, len(windows))
	for back, items := range windows {
		loads[back] = loadsOf(items)
	}
	return loads
}
