package heat

// Rests puts together what items of one window say of the keys that they don't list. The
// zero Rests is ready.
//
// A partition key of a table comes by one stream shard, and by two in a window in which
// that is split or replaced. So a key that no item lists took no more than two stream
// shards may hide. The entries of an index's partition come by all stream shards. Parts
// of a window add up; items that don't name their stream shard count as one's.
type Rests struct {
	shards map[string]uint64 // the table's, by stream shard
	most   string            // the stream shard that may hide the most
	second uint64            // the most that any other may hide
	index  uint64
}

// Add takes an item in.
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

// Of returns how many units a key of the table, or of an index, took at the most that no
// item lists. For a key that items list, what these items may hide of others is to be
// taken off.
func (r *Rests) Of(ofIndex bool) uint64 {
	if ofIndex {
		return r.index
	}
	return r.shards[r.most] + r.second
}
