package parts

import (
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

var histogramCodec = codec[Histogram]{
	encode: Histogram.Attributes, decode: StoredHistogram, clone: Histogram.Clone,
	merge: func(total *Histogram, h Histogram) {
		total.Merge(h)
		total.Limit(MaxCells)
	},
	holds: func(h Histogram) bool { return h.Cells() > 0 },
	fits:  func(Histogram, Histogram) bool { return true },
	size: func(h Histogram) int {
		const cell = 20 // at most, packed
		return cell * h.Cells()
	},
}

// NewHistograms returns a Store of boards' histograms over the rollups table.
func NewHistograms(client Client, table string, now func() time.Time) *Store[Histogram] {
	return &Store[Histogram]{histogramCodec, client, table, now}
}

// HistogramPart returns the fragment of a histogram in an item. It returns nil for a fragment that counts nothing, and an
// error for a fragment that can't be read.
func HistogramPart(stored item, now time.Time) (*Part[Histogram], error) {
	return histogramCodec.parseCounting(stored, now)
}

// Period identifies a period of a board.
type Period struct{ Board, Label string }

// PK returns the partition key of the period's top.
func (p Period) PK() string { return schema.BoardRollupKey(p.Board, p.Label) }

// Key returns the key of the histogram's fragments.
func (p Period) Key() Key {
	return Key{schema.HistogramPartitions(p.Board, p.Label), schema.HistogramPrefix, p.PK()}
}

// Target returns the target that the period's entries fold into.
func (p Period) Target() schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Board, Name: p.Board}, Period: p.Label}
}

// PeriodOf returns the period whose histogram has a fragment in an item of the rollups table; ok is
// false for other items.
func PeriodOf(pk, sk string) (p Period, streamShard string, ok bool) {
	boardPeriod, streamShard, _ := schema.ParseHistogramKey(pk, sk)
	target, _ := schema.ParseTarget(boardPeriod) // the zero Target, of no kind, for other items
	if schema.TraitsOf(target.Base.Type).Summary != schema.RankingSummary {
		return p, "", false
	}
	return Period{target.Base.Name, target.Period}, streamShard, true
}
