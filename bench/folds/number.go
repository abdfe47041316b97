package folds

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
)

// item is one of a table's.
type item = rig.Item

// Bounds of the numbers that are rolled up, as docs/design.md has them: digits that
// count, magnitude, and decimal places.
const maxDigits = 15

var (
	fine  = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(15), nil)) // units of the last place
	large = fine                                                                       // the largest number, too
)

// measurable reads a number that is rolled up; ok is false for others. It reckons
// in fractions, so that it has nothing in common with the product.
func measurable(text string) (x *big.Rat, ok bool) {
	x, ok = new(big.Rat).SetString(text)
	if !ok || new(big.Rat).Abs(x).Cmp(large) > 0 {
		return nil, false
	}
	units := new(big.Rat).Mul(x, fine)
	digits := strings.TrimRight(new(big.Int).Abs(units.Num()).String(), "0")
	return x, units.IsInt() && len(digits) <= maxDigits
}

// sums are what the events of a bucket come to.
type sums struct {
	events, skipped int64
	restated        bool
	measures        map[string]*measure
}

type measure struct {
	n             int64
	sum, min, max *big.Rat
}

// add takes in an event's numbers.
func (s *sums) add(numbers map[string]string) {
	s.events++
	for field, text := range numbers {
		if x, ok := measurable(text); ok {
			s.merge(field, &measure{1, x, x, x})
		} else {
			s.skipped++
		}
	}
}

// merge takes in a field's numbers.
func (s *sums) merge(field string, m *measure) {
	old := s.measures[field]
	if s.measures == nil {
		s.measures = map[string]*measure{}
	}
	if old == nil {
		s.measures[field] = m
		return
	}
	merged := &measure{old.n + m.n, new(big.Rat).Add(old.sum, m.sum), old.min, old.max}
	if m.min.Cmp(merged.min) < 0 {
		merged.min = m.min
	}
	if m.max.Cmp(merged.max) > 0 {
		merged.max = m.max
	}
	s.measures[field] = merged
}

// String writes all of it, so that equal sums have equal texts.
func (s *sums) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events", s.events)
	for _, field := range slices.Sorted(maps.Keys(s.measures)) {
		m := s.measures[field]
		fmt.Fprintf(&b, ", %s: %d of %s from %s to %s", field, m.n, m.sum.RatString(), m.min.RatString(), m.max.RatString())
	}
	if s.skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", s.skipped)
	}
	if s.restated {
		b.WriteString(", restated")
	}
	return b.String()
}

// canonical writes a value such that equal values have equal texts.
func canonical(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		if x, ok := new(big.Rat).SetString(v.Value); ok {
			return x.RatString()
		}
		return "no number: " + v.Value
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberM:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			b.WriteString(strconv.Quote(name) + ":" + canonical(v.Value[name]) + ",")
		}
		return "{" + b.String() + "}"
	case *types.AttributeValueMemberL:
		var b strings.Builder
		for _, one := range v.Value {
			b.WriteString(canonical(one) + ",")
		}
		return "[" + b.String() + "]"
	}
	return fmt.Sprintf("%T %+v", value, value)
}

// numbersOf returns the numbers at the top of an event's data.
func numbersOf(data types.AttributeValue) map[string]string {
	numbers := map[string]string{}
	if m, ok := data.(*types.AttributeValueMemberM); ok {
		for field, value := range m.Value {
			if n, ok := value.(*types.AttributeValueMemberN); ok {
				numbers[field] = n.Value
			}
		}
	}
	return numbers
}
