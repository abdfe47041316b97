package folds

import (
	"math/big"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/fold/measures"
)

// rollups are the sums of many buckets, by target.
type rollups map[string]*sums

func (r rollups) of(target string) *sums {
	if r[target] == nil {
		r[target] = &sums{Measures: map[string]measure{}}
	}
	return r[target]
}

// sums are what the events of a bucket come to. They are reckoned in fractions, and
// which numbers count is decided here, so that they have nothing in common with the
// product's; its parts are only read. Names are exported for fmt, which writes equal sums
// as equal texts.
type sums struct {
	Events, Skipped int64
	Restated        bool
	Measures        map[string]measure
}

// measure is what the numbers of a field come to.
type measure struct{ N, Sum, Min, Max *big.Rat }

// add takes in an event's data.
func (s *sums) add(entity string, it item) {
	s.Events++
	data, _ := it["data"].(*types.AttributeValueMemberM)
	if data == nil {
		return
	}
	for field, value := range data.Value {
		n, ok := value.(*types.AttributeValueMemberN)
		if !ok || strings.HasPrefix(entity, dayPrefix) && field != "t" && field != "w" {
			continue
		}
		if x, ok := measurable(n.Value); ok {
			s.measure(field, measure{big.NewRat(1, 1), x, x, x})
		} else {
			s.Skipped++
		}
	}
}

// merge takes in a part of the product's.
func (s *sums) merge(p measures.Part) {
	s.Events += p.Events
	s.Skipped += p.Skipped
	s.Restated = s.Restated || p.Restated
	for field, m := range p.Measures {
		s.measure(field, measure{big.NewRat(m.N, 1), rat(m.Sum.String()), rat(m.Min.String()), rat(m.Max.String())})
	}
}

func (s *sums) measure(field string, m measure) {
	if old, ok := s.Measures[field]; ok {
		m.N, m.Sum = new(big.Rat).Add(old.N, m.N), new(big.Rat).Add(old.Sum, m.Sum)
		if old.Min.Cmp(m.Min) < 0 {
			m.Min = old.Min
		}
		if old.Max.Cmp(m.Max) > 0 {
			m.Max = old.Max
		}
	}
	s.Measures[field] = m
}

func rat(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	return x
}

// Bounds of the numbers that are rolled up, as docs/design.md has them.
const maxDigits = 15 // that count

var most = rat("1e15") // the largest number, and how many of the finest steps make 1

// measurable reads a number that is rolled up; ok is false for others.
func measurable(text string) (x *big.Rat, ok bool) {
	x = rat(text)
	units := new(big.Rat).Mul(x, most)
	digits := strings.Trim(units.Num().String(), "-")
	return x, units.IsInt() && len(strings.TrimRight(digits, "0")) <= maxDigits && new(big.Rat).Abs(x).Cmp(most) <= 0
}
