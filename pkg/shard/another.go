package shard

// Another returns a random write shard from 0 to n-1, other than last unless n is 1. A negative last excludes none.
func Another(n, last int) int {
	if last < 0 || last >= n {
		return Random(n)
	}
	return (last + 1 + Random(n-1)) % n // 1 to n-1 steps after last
}
