package shard

// Another returns a random write shard of n, other than last unless n is 1.
func Another(n, last int) int {
	if last < 0 || last >= n {
		return Random(n)
	}
	return (last + 1 + Random(n-1)) % n
}
