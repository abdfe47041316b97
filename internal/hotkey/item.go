package hotkey

import (
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/topk"
)

// item makes the report of a window in its stored form.
func (w *window) item(s Settings, streamShard, part string) heat.Item {
	it := heat.Item{
		Start: w.start, Window: w.length, StreamShard: streamShard, Part: part,
		Records: w.records, Units: w.sketch.Total(), Incomplete: w.incomplete,
		Limit: float64(s.PartitionWCU), HotRate: s.hotRate(),
	}
	it.Rest = list(&it, w.sketch, tablePartition, heat.MaxKeys)
	it.IndexRest = list(&it, w.indexes, parsePartition, heat.MaxIndexKeys)
	return it
}

// list adds a sketch's heaviest keys to an item. It returns what a key that is not
// listed can weigh.
func list(it *heat.Item, sketch *topk.Sketch, of func(string) partition, most int) (rest uint64) {
	rest = sketch.Floor()
	for i, e := range sketch.Top(sketch.Len()) {
		if i >= most {
			rest = max(rest, e.Count)
			continue
		}
		p := of(e.Key)
		it.Keys = append(it.Keys, heat.Key{
			Index: p.index, Key: p.key, Units: e.Low(), Err: e.Err, Writes: e.Adds, Peak: e.Peak, PeakAt: time.Unix(e.PeakSecond, 0).UTC(),
		})
	}
	return rest
}
