package partitions

import (
	"cmp"
	"slices"
	"strings"
)

// point is a place in the order in which partitions divide a table: by the partition key's hash, then by the
// sort key.
type point struct {
	hash uint64
	sort string
}

func (p point) compare(q point) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), strings.Compare(p.sort, q.sort))
}

// sampleSize is the number of latest requests from which a split by load takes its point.
const sampleSize = 128

// sample has the latest requests' points, oldest first.
type sample []point

func (s *sample) add(p point) {
	if len(*s) == sampleSize {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, p)
}

// splitPoint returns the point that divides the sample's requests most evenly. Only if within is set, it divides the
// items of a partition key. It returns false if no point divides the requests.
//
// DynamoDB chooses the point "based on the key distribution the partition has observed", and leaves a single hot
// item alone: https://www.usenix.org/conference/atc22/presentation/elhemali, 4.4. It does not divide an item
// collection under a rising sort key, or with a local index:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
func (s sample) splitPoint(within bool) (point, bool) {
	if !slices.ContainsFunc(s, func(p point) bool { return p != s[0] }) {
		return point{}, false // one hot item: a throttled request needs no sort to find that
	}
	sorted := slices.SortedFunc(slices.Values(s), point.compare)
	best, half := 0, len(sorted)/2
	rising := map[uint64]bool{}
	for i := 1; i < len(sorted); i++ {
		before, after := sorted[i-1], sorted[i]
		if before == after {
			continue
		}
		if before.hash == after.hash {
			rises, known := rising[after.hash]
			if !known {
				rises = !within || s.rises(after.hash)
				rising[after.hash] = rises
			}
			if rises {
				continue
			}
		}
		if best == 0 || max(i-half, half-i) < max(best-half, half-best) {
			best = i
		}
	}
	if best == 0 {
		return point{}, false
	}
	if sorted[best-1].hash != sorted[best].hash {
		return point{hash: sorted[best].hash}, true
	}
	return sorted[best], true
}

// rises reports whether most requests of a partition key have a new greatest sort key, or a new least one.
func (s sample) rises(hash uint64) bool {
	var least, greatest point
	count, up, down := 0, 0, 0
	for _, p := range s {
		if p.hash != hash {
			continue
		}
		if count == 0 {
			least, greatest = p, p
		}
		if p.compare(greatest) > 0 {
			greatest = p
			up++
		}
		if p.compare(least) < 0 {
			least = p
			down++
		}
		count++
	}
	return 2*max(up, down) >= count
}
