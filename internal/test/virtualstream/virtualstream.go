// Package virtualstream is a stream for tests and bench. It spreads another stream's records
// over several stream shards, which split and rotate on demand. The engine's stream has one
// stream shard, which does neither.
//
//	stream, err := virtualstream.New(source, virtualstream.Options{Shards: 3})
//	if err != nil {
//		return err
//	}
//	mapping, err := eventsource.NewMapping(eventsource.MappingOptions{Name: "aggregator", Source: stream, ...})
//	...
//	err = stream.Split(stream.Live()[0])
package virtualstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/aws/streamshard"
)

// Stream is a virtual stream. It has the guarantees of DynamoDB Streams, and no others:
//
//   - a record is in one stream shard, once, and the records of an item are in
//     order, also from a stream shard on into its children;
//   - records of different items have no order between stream shards, not even
//     those of one partition key, which [ByItem] spreads over several;
//   - sequence numbers are unique in a stream shard and increase there;
//   - a stream shard closes when it splits or rotates. What comes later is in its
//     children, whose records are read after all of their parent's.
//
// The order between stream shards is up to their readers, as it is in Lambda.
//
// A Stream keeps no records. Each reader reads the whole base and skips other stream shards'
// records, so n stream shards cost n times the reads. The same seed and [Plan] always result in
// the same stream shards with the same records.
type Stream struct {
	base eventsource.Source
	o    Options

	mu   sync.Mutex
	plan Plan
}

// Spread selects what determines a record's stream shard.
type Spread int

// Spreads.
const (
	// ByPartitionKey keeps the items of a partition key together.
	ByPartitionKey Spread = iota
	// ByItem spreads the items of a partition key by their sort keys, as DynamoDB does after it
	// has split the partition key.
	ByItem
)

// MaxShards bounds the stream shards of a stream, including closed ones.
const MaxShards = 1000

// Options configure a stream.
type Options struct {
	Shards int    // initial number for each stream shard of the base; default 4, at most MaxShards
	Seed   uint64 // of the hash of records
	Spread Spread
	Plan   Plan // a plan to resume; the zero value starts a new one
}

// Plan is the state of a stream. It can be stored as JSON.
type Plan struct {
	Shards []Shard `json:"shards"`
	// Read has for each stream shard of the base the highest sequence number read.
	Read map[string]string `json:"read"`
}

// Shard is a stream shard: the records of a range of hashes and of a range
// of the base's sequence numbers.
type Shard struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Base   string `json:"base"` // stream shard of the base
	Low    uint64 `json:"low"`  // range of hashes, both ends included
	High   uint64 `json:"high"`
	After  string `json:"after,omitempty"` // sequence number before its first record; "" for the oldest
	Closed bool   `json:"closed,omitempty"`
	Last   string `json:"last,omitempty"` // last sequence number if closed; "" if it has no record
	// Followed is set if the base's stream shard has a child, so that this stream shard ends
	// with it.
	Followed bool `json:"followed,omitempty"`
}

// New returns a stream over base. It reads nothing.
func New(base eventsource.Source, o Options) (*Stream, error) {
	o.Shards = cmp.Or(o.Shards, 4)
	if o.Shards < 1 || o.Shards > MaxShards {
		return nil, fmt.Errorf("virtual stream: %d stream shards, not from 1 to %d", o.Shards, MaxShards)
	}
	if o.Spread != ByPartitionKey && o.Spread != ByItem {
		return nil, fmt.Errorf("virtual stream: spread %d is unknown", o.Spread)
	}
	v := &Stream{base: base, o: o, plan: o.Plan.clone()}
	if v.plan.Read == nil {
		v.plan.Read = map[string]string{}
	}
	return v, nil
}

func (p Plan) clone() Plan {
	return Plan{slices.Clone(p.Shards), maps.Clone(p.Read)}
}

// Plan returns the plan to resume. Records that were read after it, beyond a later split, are
// read again.
func (v *Stream) Plan() Plan {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.plan.clone()
}

// ARN implements [eventsource.Source]: it is the ARN of the base.
func (v *Stream) ARN() string { return v.base.ARN() }

// Shards implements [eventsource.Source]. A child in the base inherits its parent's hash
// ranges; any other stream shard of the base is cut evenly.
func (v *Stream) Shards(ctx context.Context) ([]streamshard.Shard, error) {
	bases, err := v.base.Shards(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.cover(bases); err != nil {
		return nil, err
	}
	var list []streamshard.Shard
	for _, s := range v.plan.Shards {
		if slices.ContainsFunc(bases, func(b streamshard.Shard) bool { return b.ID == s.Base }) {
			list = append(list, streamshard.Shard{ID: s.ID, Parent: s.Parent})
		}
	}
	return list, nil
}

// cover adds stream shards for those of the base that have none, parents first. The caller
// holds mu.
func (v *Stream) cover(bases []streamshard.Shard) error {
	left := slices.DeleteFunc(slices.Clone(bases), func(b streamshard.Shard) bool { return v.covers(b.ID) })
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(b streamshard.Shard) bool {
			return !slices.ContainsFunc(left, func(other streamshard.Shard) bool { return other.ID == b.Parent })
		})
		if at < 0 {
			return fmt.Errorf("virtual stream: the stream shards of %s are each other's parents", v.base.ARN())
		}
		if err := v.begin(left[at]); err != nil {
			return err
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

// begin adds the stream shards for one of the base's. Their parents end with the base's parent
// and can't split any more, since a child has only one parent.
func (v *Stream) begin(base streamshard.Shard) error {
	var ranges []Shard
	for i, s := range v.plan.Shards {
		if s.Base == base.Parent && !s.Closed {
			v.plan.Shards[i].Followed = true
			ranges = append(ranges, Shard{Parent: s.ID, Base: base.ID, Low: s.Low, High: s.High})
		}
	}
	if ranges == nil {
		ranges = even(base.ID, uint64(v.o.Shards))
	}
	return v.add(ranges...)
}

// even cuts all hashes into n ranges.
func even(base string, n uint64) []Shard {
	width := math.MaxUint64 / n
	ranges := make([]Shard, n)
	for i := range n {
		ranges[i] = Shard{Base: base, Low: i * width, High: (i+1)*width - 1}
	}
	ranges[n-1].High = math.MaxUint64
	return ranges
}

// covers reports whether a stream shard of the base has stream shards.
func (v *Stream) covers(base string) bool {
	return slices.ContainsFunc(v.plan.Shards, func(s Shard) bool { return s.Base == base })
}

var errTooManyShards = errors.New("it has the maximum of stream shards")

// add numbers stream shards and appends them to the plan.
func (v *Stream) add(list ...Shard) error {
	if len(v.plan.Shards)+len(list) > MaxShards {
		return fmt.Errorf("virtual stream over %s: %w", v.base.ARN(), errTooManyShards)
	}
	for _, s := range list {
		s.ID = fmt.Sprintf("%s-v%04d", s.Base, len(v.plan.Shards))
		v.plan.Shards = append(v.plan.Shards, s)
	}
	return nil
}

func (s Shard) live() bool { return !s.Closed && !s.Followed }

// Live returns the ids of the stream shards that can split or rotate.
func (v *Stream) Live() (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.plan.Shards {
		if s.live() {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Split closes a stream shard after the records read from the base so far. It opens two
// children with half of its hashes each.
func (v *Stream) Split(id string) error {
	return v.end(id, func(s Shard) []Shard {
		if s.Low == s.High {
			return []Shard{s}
		}
		left, right := s, s
		left.High = s.Low + (s.High-s.Low)/2
		right.Low = left.High + 1
		return []Shard{left, right}
	})
}

// Rotate closes a stream shard as Split does, and opens one child.
func (v *Stream) Rotate(id string) error {
	return v.end(id, func(s Shard) []Shard { return []Shard{s} })
}

// end closes a stream shard. follow returns its children for one child with all its hashes.
func (v *Stream) end(id string, follow func(Shard) []Shard) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.index(id)
	if at < 0 || !v.plan.Shards[at].live() {
		return fmt.Errorf("virtual stream: there is no open stream shard %q", id)
	}
	s := v.plan.Shards[at]
	last := v.plan.Read[s.Base]
	child := Shard{Parent: s.ID, Base: s.Base, Low: s.Low, High: s.High, After: last}
	if err := v.add(follow(child)...); err != nil {
		return err
	}
	v.plan.Shards[at].Closed, v.plan.Shards[at].Last = true, last
	return nil
}

func (v *Stream) index(id string) int {
	return slices.IndexFunc(v.plan.Shards, func(s Shard) bool { return s.ID == id })
}
