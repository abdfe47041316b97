package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// vectorBytes estimates the bytes that were replicated into vector indexes: all, and by key.
type vectorBytes struct {
	all  map[string]float64
	keys map[IndexKey]float64
}

// maxVectorKeys is the maximum number of keys that are counted singly.
const maxVectorKeys = 10_000

// addSlice adds a slice's bytes times weight, the ratio of the stratum's length to the slice's.
func (v *vectorBytes) addSlice(s *Slice, weight float64) {
	if v.all == nil {
		v.all, v.keys = map[string]float64{}, map[IndexKey]float64{}
	}
	for key, t := range s.Vectors {
		v.all[key.Index] += weight * float64(t.Units)
		v.keys[key] += weight * float64(t.Units)
	}
	prune(v.keys, maxVectorKeys, v.compare)
}

// compare orders keys by their bytes, the most first.
func (v *vectorBytes) compare(a, b IndexKey) int {
	return cmp.Or(cmp.Compare(v.keys[b], v.keys[a]), a.compare(b))
}

// rates returns the mean rates over a time of this length, in order of the indexes' names.
func (v *vectorBytes) rates(of time.Duration) (rates []heat.VectorRate) {
	keys := slices.SortedFunc(maps.Keys(v.keys), v.compare)
	for _, index := range slices.Sorted(maps.Keys(v.all)) {
		r := heat.VectorRate{Index: index, Bytes: heat.Hundredths(v.all[index] / of.Seconds())}
		for _, key := range keys {
			if key.Index == index {
				r.Add(key.Key, v.keys[key]/of.Seconds())
			}
		}
		rates = append(rates, r)
	}
	return rates
}

// sentences returns a sentence for each vector index.
func sentences(vectors []heat.VectorRate) (list []string) {
	for _, v := range vectors {
		text := fmt.Sprintf("The vector index %s took %s bytes a second", v.Index, heat.Grouped(v.Bytes))
		if len(v.Keys) > 0 {
			text += fmt.Sprintf(", %s of them for %s", heat.Grouped(v.Keys[0].Bytes), quoted(v.Keys[0].Key))
		}
		list = append(list, text+". DynamoDB meters them apart from write units.")
	}
	return list
}
