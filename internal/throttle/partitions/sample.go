package partitions

import "slices"

// sampleSize is the number of latest requests from which a split by load takes its point.
const sampleSize = 128

// sample has the hashes of the latest requests' partition keys, oldest first.
type sample []uint64

func (s *sample) add(hash uint64) {
	if len(*s) == sampleSize {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, hash)
}

// splitPoint returns the hash that divides the sample's requests most evenly, or false if they are for one partition key.
//
// DynamoDB chooses the point "based on the key distribution the partition has observed", and leaves a single hot
// item alone: https://www.usenix.org/conference/atc22/presentation/elhemali, 4.4.
func (s sample) splitPoint() (uint64, bool) {
	sorted := slices.Sorted(slices.Values(s))
	best, half := 0, len(sorted)/2
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] && (best == 0 || max(i-half, half-i) < max(best-half, half-best)) {
			best = i
		}
	}
	return sorted[best], best > 0
}
