package heat

import (
	"cmp"
	"slices"
)

// MaxVectorKeys bounds the keys of vector indexes that a window counts singly. A folded item keeps fewer, for memory.
const (
	MaxVectorKeys  = 100
	keptVectorKeys = 20
)

// VectorRate is the rate at which writes are replicated into a vector index. AWS meters it in bytes, apart from write
// units, and documents no limit of a partition.
type VectorRate struct {
	Index string      `json:"index" doc:"The vector index"`
	Bytes float64     `json:"bytes_per_second" doc:"VectorWriteRequestBytes a second"`
	Keys  []VectorKey `json:"keys,omitempty" doc:"Its partition keys with the most bytes, if they are known"`
}

// VectorKey is a partition key of a vector index.
type VectorKey struct {
	Key   string  `json:"key" doc:"The partition key"`
	Bytes float64 `json:"bytes_per_second" doc:"VectorWriteRequestBytes a second, a lower bound"`
}

// maxVectorKeys bounds the keys of a VectorRate.
const maxVectorKeys = 5

// Add lists a key with its bytes a second, unless maxVectorKeys are listed. It does not list the key "", which an index
// without a partition key has.
func (r *VectorRate) Add(key string, bytes float64) {
	if key != "" && len(r.Keys) < maxVectorKeys {
		r.Keys = append(r.Keys, VectorKey{key, Hundredths(bytes)})
	}
}

// VectorRates returns the rates of the vector indexes in one window, largest first.
func VectorRates(items []Item) (rates []VectorRate) {
	vectors := vectorsOf(items)
	at := func(index string) *VectorRate {
		i := slices.IndexFunc(rates, func(r VectorRate) bool { return r.Index == index })
		if i < 0 {
			i, rates = len(rates), append(rates, VectorRate{Index: index})
		}
		return &rates[i]
	}
	for i := range vectors {
		for index, bytes := range vectors[i].IndexUnits {
			at(index).Bytes += float64(bytes) / vectors[i].Window.Seconds()
		}
	}
	for _, row := range Merge(vectors) {
		at(row.Index).Add(row.Key, row.WriteUnitsPerSecond)
	}
	for i := range rates {
		rates[i].Bytes = Hundredths(rates[i].Bytes)
	}
	slices.SortFunc(rates, func(a, b VectorRate) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Index, b.Index)) })
	return rates
}

// vectorsOf returns the counts of vector indexes in the items.
func vectorsOf(items []Item) (vectors []Item) {
	for i := range items {
		if items[i].Vectors != nil {
			vectors = append(vectors, *items[i].Vectors)
		}
	}
	return vectors
}
