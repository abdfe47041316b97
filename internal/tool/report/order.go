package report

import "bytes"

// Order measures whether the sort keys of new items increase in the order of the stream. It keeps at
// most 64 evenly spaced sort keys and compares all pairs of them. So the order of concurrent writers
// hardly matters. The zero value is ready to use.
type Order struct {
	kept   [][]byte
	every  int // items skipped between two kept ones
	passed int // items since the last kept one
}

// maxOrder is the maximum number of sort keys that are kept.
const maxOrder = 64

// Add adds the sort key of the next new item. It does not keep the slice.
func (o *Order) Add(sortKey []byte) {
	if o.passed++; o.passed <= o.every {
		return
	}
	if o.passed = 0; len(o.kept) == maxOrder { // keep every other one
		for i := range maxOrder / 2 {
			o.kept[i], o.kept[2*i] = o.kept[2*i], o.kept[i]
		}
		o.kept = o.kept[:maxOrder/2]
		o.every = 2*o.every + 1
	}
	if n := len(o.kept); n < cap(o.kept) { // reuses the memory of a dropped one
		o.kept = o.kept[:n+1]
		o.kept[n] = append(o.kept[n][:0], sortKey...)
		return
	}
	o.kept = append(o.kept, bytes.Clone(sortKey))
}

// Tau returns Kendall's rank correlation between the order of the stream and that of the sort keys: 1
// if they always increase, about 0 if they are random, -1 if they decrease. It is 0 for fewer than 2
// items.
func (o *Order) Tau() float64 {
	n, sum := len(o.kept), 0
	if n < 2 {
		return 0
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			sum += bytes.Compare(o.kept[j], o.kept[i])
		}
	}
	return float64(sum) / float64(n*(n-1)/2)
}
