package hotkey

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/topk"
	"github.com/hotshard/hotshard/pkg/shard"
)

// suspect is a base key, in one bucket, that a window shows to be hot or to have
// been sighted.
type suspect struct {
	name    string // what its partition keys have before the write shard's number
	counted bool   // it is hot by what was counted, sighted or not
	Evidence
}

// suspects lists the keys of hotshard's own that are to be decided on, the
// hottest first; boards come last, whose load is yet to be put together. Running says that the window goes on.
func (w *window) suspects(s Settings, running bool) []*suspect {
	budget := s.hotRate() * w.length.Seconds()
	share := boardShare(budget, running)
	if len(w.marks.sighted) == 0 && float64(w.sketch.Total()) < budget && float64(w.indexes.Total()) < share {
		return nil // the usual case, at no cost
	}
	found := make(map[string]*suspect)
	limits := w.limitNames()
	for name, seen := range w.marks.sighted {
		if base, err := schema.ParseBaseKey(name); err == nil {
			w.suspect(found, base, w.partitionName(base, limits), running).sight(seen, w.length)
		}
	}
	entries := w.sketch.Top(w.sketch.Len())
	for _, e := range entries {
		if float64(e.Low()) < budget {
			break
		}
		if key, err := schema.ParseKey(e.Key); err == nil && key.Base.Type != schema.Board {
			name, _, _ := shard.Hash.Split(e.Key)
			s := w.suspect(found, key.Base, name, running)
			s.Past, s.counted = w.past(key), true
		}
	}
	w.suspectBoards(found, share, running)
	if len(found) > 0 {
		w.load(found, entries)
	}
	return sorted(found)
}

func (w *window) suspect(found map[string]*suspect, base schema.BaseKey, name string, running bool) *suspect {
	if found[name] == nil {
		found[name] = &suspect{name: name, Evidence: Evidence{
			Base: base, Start: w.start, End: w.start.Add(w.length), Running: running,
			Shards: make(map[int]Load), Refused: make(map[int]uint64),
			Rest: float64(w.sketch.Floor()) / w.length.Seconds(),
		}}
	}
	return found[name]
}

// past tells whether a key is of a bucket that no event of the window's own time
// belongs to. Events may lie some seconds ahead.
func (w *window) past(key schema.Key) bool {
	end := w.start.Add(w.length)
	return key.Base.Type == schema.Entity &&
		key.Bucket != schema.EventBucket.Label(w.start, 0) && key.Bucket != schema.EventBucket.Label(end.Add(5*time.Second), 0)
}

// sight enters sightings. A failed condition costs the table's partition: of a
// board that is a player's, and not one of the index.
func (e *Evidence) sight(s *sighted, length time.Duration) {
	e.Throttled, e.Offered, e.Waiting = s.throttled, float64(s.offered)/10, s.waiting()
	if e.Base.Type != schema.Board {
		e.Failed = float64(s.failed) / length.Seconds()
	}
	for n, attempts := range s.shards {
		e.Refused[n] = attempts
	}
}

// load enters what was counted of the table. A leaderboard's table keys are its
// players', not its write shards'. Sightings don't tell an entity's buckets apart: if more was
// written to past ones, then those are what throttled.
func (w *window) load(found map[string]*suspect, entries []topk.Entry) {
	seconds := w.length.Seconds()
	past, present := make(map[schema.BaseKey]uint64), make(map[schema.BaseKey]uint64)
	for _, e := range entries {
		key, err := schema.ParseKey(e.Key)
		if err != nil || key.Base.Type == schema.Board {
			continue
		}
		if w.past(key) {
			past[key.Base] += e.Low()
		} else {
			present[key.Base] += e.Low()
		}
		name, n, _ := shard.Hash.Split(e.Key)
		if s := found[name]; s != nil {
			s.Shards[n] = Load{Low: float64(e.Low()) / seconds, High: float64(e.Count) / seconds, Peak: float64(e.Peak), PeakAt: time.Unix(e.PeakSecond, 0)}
		}
	}
	for _, s := range found {
		s.Past = s.Past || !s.counted && past[s.Base] > present[s.Base]
	}
}

func sorted(found map[string]*suspect) []*suspect {
	list := make([]*suspect, 0, len(found))
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *suspect) int {
		return cmp.Or(cmp.Compare(b.Throttled, a.Throttled), cmp.Compare(b.total(), a.total()), cmp.Compare(a.name, b.name))
	})
	return list
}
