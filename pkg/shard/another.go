package shard

// Another returns a random write shard from 0 to n-1, other than last unless n is 1. A negative last excludes none.
func Another(n, last int) int {
	if last < 0 || last >= n {
		return Random(n)
	}
	steps := 1 + Random(n-1) // fewer than n, so that the next write shard is not last, unless n is 1
	return (last + steps) % n
}
