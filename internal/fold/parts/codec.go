package parts

import (
	"errors"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// codec stores, sums and measures the value of a fragment.
type codec[V any] struct {
	encode func(V) item // without the attributes of all fragments
	decode func(item) (V, error)
	clone  func(V) V
	merge  func(total *V, value V)
	fits   func(total, value V) bool // reports whether one fragment can hold both
	holds  func(V) bool              // reports whether the value counts anything
	size   func(V) int               // approximate size of the value in an item, in bytes
}

// attributes returns a fragment as it is stored, without its keys.
func (c codec[V]) attributes(p Part[V]) item {
	stored := c.encode(p.Value)
	stored[schema.RollupSequence] = dynamo.String(p.Sequence)
	if !p.AsOf.IsZero() {
		stored[schema.AsOf] = dynamo.Number(p.AsOf.UnixMilli())
	}
	if p.ExpiresAt != 0 {
		stored[schema.ExpiresAt] = dynamo.Number(p.ExpiresAt)
	}
	return stored
}

// parseFragment returns the fragment in an item, without its stream shard, or an error if the value can't be read.
func (c codec[V]) parseFragment(stored item) (p Part[V], err error) {
	p.stored, p.Sequence = stored, sequenceOf(stored)
	p.ExpiresAt, _ = dynamo.Whole(stored, schema.ExpiresAt)
	if at, known := dynamo.Millis(stored, schema.AsOf); known {
		p.AsOf = at
	}
	p.Value, err = c.decode(stored)
	return p, err
}

// parse is parseFragment for callers that also write fragments. The fragment's Damage has all errors, also of seq and
// expires_at.
func (c codec[V]) parse(stored item) (p Part[V]) {
	p, p.Damage = c.parseFragment(stored)
	if p.Sequence == "" {
		p.Damage = errors.Join(p.Damage, errors.New("its seq is missing, or is not a sequence number"))
	}
	if _, known := dynamo.Whole(stored, schema.ExpiresAt); !known && stored[schema.ExpiresAt] != nil {
		p.Damage = errors.Join(p.Damage, errors.New("its "+schema.ExpiresAt+" is not a whole number"))
	}
	return p
}

// parseCounting returns the fragment in an item. It returns nil for a fragment that counts nothing, and
// an error if the value can't be read.
func (c codec[V]) parseCounting(stored item, now time.Time) (*Part[V], error) {
	p, err := c.parseFragment(stored)
	if err != nil || !p.Counts(now) {
		return nil, err
	}
	return &p, nil
}

// sequenceOf returns a fragment's sequence number, with the suffix of an emptied fragment. Except for the merged
// fragment, it returns "" for a text that may sort after all sequence numbers, since folds would skip all records then.
func sequenceOf(stored item) string {
	sequence := dynamo.Text(stored, schema.RollupSequence)
	merged := strings.HasSuffix(dynamo.Text(stored, schema.SK), schema.MergedPart)
	if !merged && (sequence < "0" || sequence > "9~") {
		return ""
	}
	return sequence
}
