package shard

// Another returns a random write shard of n, other than the last one if there is
// another.
func Another(n, last int) int {
	if last < 0 || last >= n || n == 1 {
		return Random(n)
	}
	return (last + 1 + Random(n-1)) % n
}
