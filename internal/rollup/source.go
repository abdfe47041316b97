package rollup

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// state is what a write shard had at one of its writes.
type state struct {
	rev      *big.Int
	value    string
	removed  bool
	sequence string // of the stream record
}

// change is a record's news about one write shard of a counter.
type change struct {
	counter string
	source  int
	state
}

// partial is the key of the summary item that the change folds into.
func (c change) partial() string { return schema.SummaryKey(c.counter, c.source) }

// read returns the change that a record makes to a counter's write shard; ok is
// false for records of other items.
func read(r *ddbstream.Record) (c change, ok bool, err error) {
	if r.Err != nil {
		return c, false, fmt.Errorf("record %s: %w", r.Sequence, r.Err)
	}
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	key, err := schema.ParseKey(pk)
	if err != nil || key.Base.Type != schema.Counter || sk != schema.SoleSK {
		return c, false, nil
	}
	c = change{counter: key.Base.Name, source: key.Shard}
	if c.state, err = stateOf(r); err != nil {
		return c, false, fmt.Errorf("record %s of %q: %w", r.Sequence, pk, err)
	}
	return c, true, nil
}

// stateOf reads the new image. A removed write shard is worth 0 from the rev
// after its last: made again, it goes on from the clock's microseconds, above.
func stateOf(r *ddbstream.Record) (state, error) {
	image, s := r.New, state{sequence: string(r.Sequence)}
	if r.Name == ddbstream.Remove {
		image = r.Old
	}
	digits, hasRev := image.Number("rev")
	value, hasValue := image.Number("value")
	if !hasRev || !hasValue {
		return s, fmt.Errorf("the item lacks rev or value")
	}
	rev, whole := new(big.Int).SetString(digits, 10)
	if !whole {
		return s, fmt.Errorf("rev %q is not a whole number", digits)
	}
	s.rev, s.value = rev, value
	if r.Name == ddbstream.Remove {
		s.rev, s.value, s.removed = rev.Add(rev, big.NewInt(1)), "0", true
	}
	return s, nil
}

// target is a summary item and what is to be folded into it, by write shard.
type target struct {
	pk        string
	sources   map[int]state
	sequences []string // of all its records: the batch may be cut before the newest
}

// removes tells whether some of the write shards were removed.
func (t *target) removes() bool {
	for _, s := range t.sources {
		if s.removed {
			return true
		}
	}
	return false
}

// newest sorts changes by target and keeps, of each write shard, the highest rev.
func newest(changes []change) []*target {
	var targets []*target
	index := map[string]*target{}
	for _, c := range changes {
		pk := c.partial()
		t := index[pk]
		if t == nil {
			t = &target{pk: pk, sources: map[int]state{}}
			index[pk] = t
			targets = append(targets, t)
		}
		t.sequences = append(t.sequences, c.sequence)
		if old, ok := t.sources[c.source]; !ok || old.rev.Cmp(c.rev) < 0 {
			t.sources[c.source] = c.state
		}
	}
	return targets
}

// FoldRemoval folds the removal of a counter's write shard that was as given, as its
// record will be: it is worth 0 from the rev after its last. One that no fold can read
// is passed over. The client needs UpdateItem only.
func FoldRemoval(ctx context.Context, client dynamo.Updater, table string, of schema.Key, was dynamo.Item, now func() time.Time) error {
	rev, whole := new(big.Int).SetString(dynamo.Digits(was, "rev"), 10)
	if !whole {
		return nil
	}
	removed := state{rev: rev.Add(rev, big.NewInt(1)), value: "0", removed: true}
	t := &target{pk: schema.SummaryKey(of.Base.Name, of.Shard), sources: map[int]state{of.Shard: removed}}
	_, err := t.fold(ctx, client, table, now, nil)
	return err
}
