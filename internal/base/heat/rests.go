package heat

// Rests bounds the units that items of one window may hide of a key that they don't list. The zero Rests is ready to
// use.
//
// A partition key of a table is on one stream shard, or on two in a window in which its stream shard is split or replaced.
// So an unlisted key has at most the units that two stream shards may hide. The entries of an index's partition are on all
// stream shards. The rests of a window's parts are added up. Items without a stream shard count as those of one stream shard.
type Rests struct {
	shards map[string]uint64 // rests of the table by stream shard
	most   string            // the stream shard that may hide the most
	second uint64            // the most that any other stream shard may hide
	index  uint64            // rests of indexes
}

// Add adds an item.
func (r *Rests) Add(it *Item) {
	if r.shards == nil {
		r.shards = make(map[string]uint64)
	}
	r.index += it.IndexRest
	before := r.shards[r.most]
	sum := r.shards[it.StreamShard] + it.Rest
	r.shards[it.StreamShard] = sum
	switch {
	case it.StreamShard == r.most:
	case sum > before:
		r.most, r.second = it.StreamShard, before
	default:
		r.second = max(r.second, sum)
	}
}

// Unlisted returns the most units that a key of the table, or of an index, can have if no item lists it. For a key that
// some items list, subtract the rests of these items.
func (r *Rests) Unlisted(ofIndex bool) uint64 {
	if ofIndex {
		return r.index
	}
	return r.shards[r.most] + r.second
}
