package report

import (
	"cmp"
	"maps"
	"slices"
)

// indexRates estimates the rates of index keys in each stratum. The writes to an index key are spread over all stream
// shards, so the estimate is the sum of their slices.
type indexRates map[int]map[IndexKey]*indexRate

// indexRate is the estimate of a key's mean rate in a stratum.
type indexRate struct {
	mean     float64 // WCU/s
	variance float64 // 0 if all records were read
	weight   float64 // units of the heaviest write
}

// maxIndexCells is the maximum number of index keys that all strata together count singly.
const maxIndexCells = 500_000

func (r indexRates) addSlice(s *Slice, p Plan) {
	if len(s.Indexes) == 0 {
		return
	}
	cells := r[s.Stratum]
	if cells == nil {
		cells = make(map[IndexKey]*indexRate)
		r[s.Stratum] = cells
	}
	seconds := s.seconds(p)
	for key, t := range s.Indexes {
		at := cells[key]
		if at == nil {
			at = new(indexRate)
			cells[key] = at
		}
		weight := float64(t.Units) / float64(t.Writes)
		at.mean += float64(t.Units) / seconds
		at.weight = max(at.weight, weight)
		if !s.Whole {
			at.variance += float64(t.Units) * weight / seconds / seconds
		}
	}
	prune(cells, max(20, maxIndexCells/p.Strata), func(a, b IndexKey) int {
		return cmp.Or(cmp.Compare(cells[b].mean, cells[a].mean), a.compare(b))
	})
}

// hits returns a hit for each stratum in which an index key was certainly hot, and for the cooler ones between.
func (r indexRates) hits(s Settings, p Plan) (hits []hit) {
	last := make(map[IndexKey]int) // stratum in which the key was hot
	for _, stratum := range slices.Sorted(maps.Keys(r)) {
		for key, at := range r[stratum] {
			h := at.hit(key, stratum, p)
			if h.cool = h.low < s.HotRate; !h.cool {
				last[key] = stratum
			}
			if before, burning := last[key]; burning && before >= stratum-stormGap {
				if at.variance > 0 {
					h.low, h.high = 0, 0 // a sample: the storm's interval is that of all its hits
				}
				hits = append(hits, h)
			}
		}
	}
	return hits
}

// hit returns the estimate as a hit of the whole stratum. Its units were read in as many seconds as give the estimate's
// variance.
func (r *indexRate) hit(key IndexKey, stratum int, p Plan) hit {
	seconds := p.Stratum.Seconds()
	if r.variance > 0 {
		seconds = r.mean * r.weight / r.variance
	}
	h := hit{from: p.Begin(stratum), to: p.Begin(stratum + 1), seconds: seconds}
	h.kind, h.key, h.index, h.keys = OneKey, key.Key, key.Index, 1
	h.units, h.weight, h.low, h.high = r.mean*seconds, r.weight, r.mean, r.mean
	if r.variance > 0 {
		h.low, h.high = noise{}.interval(h.units, seconds, r.weight)
	}
	return h
}
