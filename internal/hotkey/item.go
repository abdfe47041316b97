package hotkey

import (
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/topk"
	"github.com/hotshard/hotshard/pkg/shard"
)

// item makes the report of a window in its stored form.
func (w *window) item(s Settings, streamShard, part string) heat.Item {
	it := heat.Item{
		Start: w.start, Window: w.length, StreamShard: streamShard, Part: part,
		Records: w.records, Units: w.sketch.Total(),
		Limit: float64(s.PartitionWCU), HotRate: s.hotRate(),
		Marks: w.marks.stored(),
	}
	refused := w.refused()
	it.Rest = list(&it, w.sketch, tablePartition, heat.MaxKeys, refused)
	it.IndexRest = list(&it, w.indexes, parsePartition, heat.MaxIndexKeys, refused)
	for _, p := range slices.SortedFunc(maps.Keys(refused), partition.compare) { // they throttled and are not counted
		floor := w.sketch.Floor()
		if p.index != "" {
			floor = w.indexes.Floor()
		}
		it.Keys = append(it.Keys, heat.Key{
			Index: p.index, Key: p.key, Err: floor, PeakAt: w.start.Truncate(time.Second), Status: heat.Saturated,
		})
	}
	return it
}

// list adds a sketch's keys to an item: the heaviest, most of them at the most, and
// those that were refused, which it takes out of there. It returns what a key that
// is not listed can weigh.
func list(it *heat.Item, sketch *topk.Sketch, of func(string) partition, most int, refused map[partition]bool) (rest uint64) {
	rest = sketch.Floor()
	for i, e := range sketch.Top(sketch.Len()) {
		p := of(e.Key)
		if i >= most && !refused[p] {
			rest = max(rest, e.Count)
			continue
		}
		key := heat.Key{Index: p.index, Key: p.key, Units: e.Low(), Err: e.Err, Writes: e.Adds, Peak: e.Peak, PeakAt: time.Unix(e.PeakSecond, 0).UTC()}
		switch {
		case refused[p]:
			key.Status = heat.Saturated
		case float64(e.Low()) >= it.HotRate*it.Window.Seconds():
			key.Status = heat.Hot
		}
		it.Keys = append(it.Keys, key)
		delete(refused, p)
	}
	return rest
}

// refused lists the partition keys whose writes throttled. Those of an entity are
// taken to be in the bucket of the window's start, those of a board in the period
// that took most there, and those of a limit in its window that did: sightings don't
// tell.
func (w *window) refused() map[partition]bool {
	keys := make(map[partition]bool)
	limits := w.limitNames()
	var boards map[boardShard]partition
	for name, s := range w.marks.sighted {
		base, err := schema.ParseBaseKey(name)
		if err != nil {
			continue
		}
		if base.Type == schema.Board && boards == nil {
			boards = w.heaviest()
		}
		for n := range s.shards {
			p := tablePartition(shard.Hash.Join(w.partitionName(base, limits), n))
			if base.Type == schema.Board {
				var counted bool
				if p, counted = boards[boardShard{base.Name, n}]; !counted {
					p = partition{schema.ByRank, schema.BoardShardKey(base.Name, schema.AllTime.Label(w.start), n)}
				}
			}
			keys[p] = true
		}
	}
	return keys
}

// heaviest finds, for each write shard of each board, the partition of the period
// that took most.
func (w *window) heaviest() map[boardShard]partition {
	found := make(map[boardShard]partition)
	for _, e := range w.indexes.Top(w.indexes.Len()) {
		p := parsePartition(e.Key)
		b, _, ok := p.board()
		if _, heavier := found[b]; ok && !heavier {
			found[b] = p
		}
	}
	return found
}
