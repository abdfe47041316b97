package heat

// Rests bounds the units that a key may have in a window whose items don't list the key. The zero value is ready to use.
//
// A partition key of a table is on one stream shard, or on two in a window in which its stream shard is split or replaced.
// So an unlisted key has at most the rests of two stream shards. The entries of an index's partition are on all stream
// shards. A stream shard's rest is the sum over its parts. Items without a stream shard count as those of one stream shard.
type Rests struct {
	shards  map[string]uint64 // rests of the table by stream shard
	largest string            // the stream shard with the largest rest
	second  uint64            // the largest rest of any other stream shard
	index   uint64            // rests of indexes
}

// Add adds an item of the window.
func (r *Rests) Add(it *Item) {
	if r.shards == nil {
		r.shards = make(map[string]uint64)
	}
	r.index += it.IndexRest
	before := r.shards[r.largest]
	sum := r.shards[it.StreamShard] + it.Rest
	r.shards[it.StreamShard] = sum
	switch {
	case it.StreamShard == r.largest:
	case sum > before:
		r.largest, r.second = it.StreamShard, before
	default:
		r.second = max(r.second, sum)
	}
}

// Unlisted returns the most units that a key of the table, or of an index, can have if no item lists the key. For a key
// that some items list, subtract the rests of these items.
func (r *Rests) Unlisted(ofIndex bool) uint64 {
	if ofIndex {
		return r.index
	}
	return r.shards[r.largest] + r.second
}
