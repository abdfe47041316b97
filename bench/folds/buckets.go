package folds

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/schema"
)

// The rules of rollups: entities of this prefix by the day and some of their
// fields, all others by the hour.
const (
	dayPrefix = "day/"
	rules     = `[{"prefix":"day/","every":"1d","fields":["t","w"]},{"every":"1h"}]`

	dayLayout  = "2006-01-02"
	hourLength = len("2006-01-02T15")
)

// dayFields are those that rules has.
var dayFields = map[string]bool{"t": true, "w": true}

// bucketID names an event rollup by its entity and its hour or day.
type bucketID struct{ entity, label string }

func (b bucketID) String() string { return b.entity + "#" + b.label }

// bucket returns the one that an event falls into: by the text of its sort key,
// which starts with its time.
func (id identity) bucket() bucketID {
	if strings.HasPrefix(id.entity, dayPrefix) {
		return bucketID{id.entity, id.sk[:len(dayLayout)]}
	}
	return bucketID{id.entity, id.sk[:hourLength]}
}

// wanted leaves those of an event's numbers that are rolled up.
func (b bucketID) wanted(numbers map[string]string) map[string]string {
	if !strings.HasPrefix(b.entity, dayPrefix) {
		return numbers
	}
	kept := map[string]string{}
	for field, text := range numbers {
		if dayFields[field] {
			kept[field] = text
		}
	}
	return kept
}

// rollups are the sums of many buckets.
type rollups map[bucketID]*sums

func (r rollups) of(id bucketID) *sums {
	if r[id] == nil {
		r[id] = &sums{}
	}
	return r[id]
}

// add takes in an item of the rollups table, if it is a stream shard's part of an
// event rollup.
func (r rollups) add(it item) error {
	pk, sk := rig.Text(it[schema.PK]), rig.Text(it[schema.SK])
	if !strings.HasPrefix(pk, "E#") {
		return nil
	}
	entity, _, err := schema.ParseRollupPartition(pk)
	if err != nil {
		return err
	}
	part, err := partial.Parse(it)
	if err != nil {
		return fmt.Errorf("the part %q, %q: %w", pk, sk, err)
	}
	label, _, _ := strings.Cut(sk, "#")
	sum := r.of(bucketID{entity, label})
	sum.events += part.Events
	sum.skipped += part.Skipped
	sum.restated = sum.restated || part.Restated
	for field, m := range part.Measures {
		sum.merge(field, &measure{m.N, fraction(m.Sum), fraction(m.Min), fraction(m.Max)})
	}
	return nil
}

func fraction(d partial.Decimal) *big.Rat {
	x, ok := new(big.Rat).SetString(d.String())
	if !ok {
		panic("no number: " + d.String())
	}
	return x
}
