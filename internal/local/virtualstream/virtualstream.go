// Package virtualstream gives tests and bench a stream whose records are those of another,
// spread over several stream shards that split and rotate on demand. The engine's own stream
// has one stream shard, which does neither.
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
	"strings"
	"sync"

	"github.com/hotshard/hotshard/internal/local/eventsource"
)

// Stream is a virtual stream. It models what DynamoDB Streams guarantee, and no more:
//
//   - a record is in one stream shard, once, and the records of an item are in
//     order, also from a stream shard on into its children;
//   - records of different items have no order between stream shards, not even
//     those of one partition key, which [ByItem] spreads over several;
//   - sequence numbers are unique in a stream shard and increase there;
//   - a stream shard closes when it splits or rotates. What comes later is in its
//     children, whose records are read after all of their parent's.
//
// The order in which the records of several stream shards are delivered is left
// to those who read them, as it is in Lambda.
//
// It keeps no records: each reader reads the whole base and leaves out what is not
// its own, so a stream over n stream shards costs n times the reads. The same seed and
// the same [Plan] give the same stream shards with the same records, also after a restart.
type Stream struct {
	base eventsource.Source
	o    Options

	mu   sync.Mutex
	plan Plan
}

// Spread says what decides the stream shard of a record.
type Spread int

// The spreads.
const (
	// ByPartitionKey keeps the items of a partition key together.
	ByPartitionKey Spread = iota
	// ByItem spreads the items of a partition key by their sort keys, as DynamoDB
	// does once it has split a partition key's items.
	ByItem
)

// MaxShards bounds the stream shards of a stream, closed ones counted.
const MaxShards = 1000

// Options say how a base's records are spread.
type Options struct {
	Shards int    // to begin with, for each stream shard of the base; default 4, at most MaxShards
	Seed   uint64 // of the hash that spreads
	Spread Spread
	Plan   Plan // from an earlier Plan, to go on with; zero begins anew
}

// Plan is all that a stream knows. It can be kept as JSON.
type Plan struct {
	Shards []Shard `json:"shards"`
	// Read is, for each stream shard of the base, the highest sequence number that
	// any reader has come to.
	Read map[string]string `json:"read"`
}

// Shard is a stream shard: the records of a range of hashes and of a range
// of the base's sequence numbers.
type Shard struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Base   string `json:"base"` // stream shard of the base
	Low    uint64 `json:"low"`  // the hashes, both ends included
	High   uint64 `json:"high"`
	After  string `json:"after,omitempty"` // sequence number that it begins behind; "" for the oldest
	Closed bool   `json:"closed,omitempty"`
	Last   string `json:"last,omitempty"` // sequence number that a closed one ends with; "" if it has no record
	// Followed says that the base has begun a stream shard after this one's, with
	// which this one ends.
	Followed bool `json:"followed,omitempty"`
}

// New returns a stream over base. Nothing is read yet.
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

// Plan returns the plan to go on with. When readers are ahead of it, what they have
// read behind a later split is read again.
func (v *Stream) Plan() Plan {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.plan.clone()
}

// ARN implements [eventsource.Source]: it is the base's.
func (v *Stream) ARN() string { return v.base.ARN() }

// Shards implements [eventsource.Source]. A stream shard that the base begins takes over the
// hash ranges of the one that it follows; one that follows none is cut evenly.
func (v *Stream) Shards(ctx context.Context) ([]eventsource.StreamShard, error) {
	bases, err := v.base.Shards(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.cover(bases); err != nil {
		return nil, err
	}
	var list []eventsource.StreamShard
	for _, s := range v.plan.Shards {
		if slices.ContainsFunc(bases, func(b eventsource.StreamShard) bool { return b.ID == s.Base }) {
			list = append(list, eventsource.StreamShard{ID: s.ID, Parent: s.Parent})
		}
	}
	return list, nil
}

// cover makes stream shards for those of the base that have none, parents first.
// The caller holds mu.
func (v *Stream) cover(bases []eventsource.StreamShard) error {
	left := slices.DeleteFunc(slices.Clone(bases), func(b eventsource.StreamShard) bool { return v.covers(b.ID) })
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(b eventsource.StreamShard) bool {
			return !slices.ContainsFunc(left, func(other eventsource.StreamShard) bool { return other.ID == b.Parent })
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

// begin makes the stream shards of one of the base's. Those of its parent need no
// closing: they end with the parent. But they can't be split any more, since there
// would then be two parents to be read first.
func (v *Stream) begin(base eventsource.StreamShard) error {
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

// covers tells whether one of the base's has stream shards.
func (v *Stream) covers(base string) bool {
	return slices.ContainsFunc(v.plan.Shards, func(s Shard) bool { return s.Base == base })
}

var errTooManyShards = errors.New("it has as many stream shards as it may")

// add numbers stream shards and takes them into the plan.
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

// Live lists the stream shards that can split or rotate.
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

// Split closes a stream shard behind what has been read of the base so far, and
// opens two children, each with half of its hashes.
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

// end closes a stream shard; follow makes its children of one that has all its
// hashes.
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

// compareSequences compares sequence numbers, which may exceed 64 bits; "" is
// before all others.
func compareSequences(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
