package partitions

import "slices"

// sampleSize is the number of latest requests from which a split by load chooses its hash.
const sampleSize = 128

// sample has the hashes of the latest requests' partition keys, oldest first.
type sample []uint64

func (s *sample) add(hash uint64) {
	if len(*s) == sampleSize {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, hash)
}

// splitPoint returns the hash that divides the sample's requests most evenly, or false if they are for one partition
// key. The hash begins the upper half.
//
// DynamoDB chooses the point "based on the key distribution the partition has observed", and leaves a single hot
// item alone: https://www.usenix.org/conference/atc22/presentation/elhemali, 4.4.
func (s sample) splitPoint() (hash uint64, ok bool) {
	sorted := slices.Sorted(slices.Values(s))
	middle, nearest := len(sorted)/2, len(sorted)
	for i := 1; i < len(sorted); i++ {
		distance := max(i-middle, middle-i)
		if sorted[i] != sorted[i-1] && distance < nearest {
			hash, nearest = sorted[i], distance
		}
	}
	return hash, nearest < len(sorted)
}
