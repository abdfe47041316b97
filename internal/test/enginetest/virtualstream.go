package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// VirtualStream is a virtual stream. It has the guarantees of DynamoDB Streams, and no others:
//
//   - a record is in one stream shard, once, and the records of an item are in
//     order, also from a stream shard on into its child;
//   - records of different partition keys have no order between stream shards;
//   - sequence numbers are unique in a stream shard and increase there.
//
// The order between stream shards is up to their readers, as it is in Lambda.
//
// A VirtualStream keeps no records. Each reader reads the whole base and skips other stream shards'
// records, so n stream shards cost n times the reads. The same seed always results in the same
// stream shards with the same records.
type VirtualStream struct {
	base eventsource.Source
	o    VirtualOptions

	mu     sync.Mutex
	shards []shard
}

// VirtualOptions configure a stream.
type VirtualOptions struct {
	Shards int    // initial number for each stream shard of the base; default 4
	Seed   uint64 // of the hash of partition keys
}

// shard is a stream shard: the records of a range of hashes in a stream shard of the base.
type shard struct {
	id, parent, base string
	low, high        uint64 // range of hashes, both ends included
}

// NewVirtualStream returns a stream over base. It reads nothing.
func NewVirtualStream(base eventsource.Source, o VirtualOptions) *VirtualStream {
	o.Shards = cmp.Or(o.Shards, 4)
	return &VirtualStream{base: base, o: o}
}

// ARN implements [eventsource.Source]: it is the ARN of the base.
func (v *VirtualStream) ARN() string { return v.base.ARN() }

// Shards implements [eventsource.Source]. A child in the base inherits its parent's hash
// ranges. Those of other stream shards of the base are of equal size.
func (v *VirtualStream) Shards(ctx context.Context) ([]eventsource.Shard, error) {
	bases, err := v.base.Shards(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.cover(bases); err != nil {
		return nil, err
	}
	var list []eventsource.Shard
	for _, s := range v.shards {
		if slices.ContainsFunc(bases, func(b eventsource.Shard) bool { return b.ID == s.base }) {
			list = append(list, eventsource.Shard{ID: s.id, Parent: s.parent})
		}
	}
	return list, nil
}

// cover adds stream shards for those of the base that have none, parents first. The caller
// holds mu.
func (v *VirtualStream) cover(bases []eventsource.Shard) error {
	left := slices.DeleteFunc(slices.Clone(bases), func(b eventsource.Shard) bool { return v.covers(b.ID) })
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(b eventsource.Shard) bool {
			return !slices.ContainsFunc(left, func(other eventsource.Shard) bool { return other.ID == b.Parent })
		})
		if at < 0 {
			return fmt.Errorf("virtual stream: the stream shards of %s are each other's parents", v.base.ARN())
		}
		v.begin(left[at])
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

// begin adds the stream shards for one of the base's.
func (v *VirtualStream) begin(base eventsource.Shard) {
	var list []shard
	for _, s := range v.shards {
		if s.base == base.Parent {
			list = append(list, shard{parent: s.id, base: base.ID, low: s.low, high: s.high})
		}
	}
	if list == nil {
		list = even(base.ID, uint64(v.o.Shards))
	}
	for _, s := range list {
		s.id = fmt.Sprintf("%s-v%04d", s.base, len(v.shards))
		v.shards = append(v.shards, s)
	}
}

// even cuts all hashes into n ranges.
func even(base string, n uint64) []shard {
	width := math.MaxUint64 / n
	ranges := make([]shard, n)
	for i := range n {
		ranges[i] = shard{base: base, low: i * width, high: (i+1)*width - 1}
	}
	ranges[n-1].high = math.MaxUint64
	return ranges
}

// covers reports whether a stream shard of the base has stream shards.
func (v *VirtualStream) covers(base string) bool {
	return slices.ContainsFunc(v.shards, func(s shard) bool { return s.base == base })
}

func (v *VirtualStream) index(id string) int {
	return slices.IndexFunc(v.shards, func(s shard) bool { return s.id == id })
}
