package growth

// far is how many times cooler than a key's hottest write shard the others are, on
// average, when its load is skewed.
const far = 3

// Skewed tells whether the hottest of n write shards, which takes at least so many units
// a second, is far hotter than the others, which take at most so many all together. Then
// more write shards would stand idle, too.
func Skewed(hottest, others float64, n int) bool {
	return n > 1 && hottest > 0 && far*others < hottest*float64(n-1)
}
