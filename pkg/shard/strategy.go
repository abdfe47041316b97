package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// MaxShards is the largest shard count of a key, in a plan and in the shard map.
const MaxShards = 1000

// Random returns a write shard from 0 to n-1, all with equal probability. It is for writes that are never read one by
// one, since a reader has to query all n. It is safe for concurrent use. An n below 1 counts as 1.
func Random(n int) int { return rand.IntN(max(1, n)) }

// Calculated returns the write shard of attr among n, 0 to n-1. The same attr and n always give the same write shard.
// So a retry writes the same item, and a reader that knows attr needs one GetItem.
//
// The write shard is the SHA-256 of attr's bytes, as one big-endian integer, modulo n. Stored items depend on this
// calculation. It equals Python's int(hashlib.sha256(attr.encode()).hexdigest(), 16) % n. An n below 1 counts as 1.
func Calculated(attr string, n int) int {
	digest := sha256.Sum256([]byte(attr))
	var remainder uint64 // of the digest's first i bytes
	for i := 0; i < len(digest); i += 8 {
		remainder = bits.Rem64(remainder, binary.BigEndian.Uint64(digest[i:]), uint64(max(1, n)))
	}
	return int(remainder)
}

// Summed returns the write shard of attr among n, 0 to n-1, by the sum of its code points. It is the calculation of
// DynamoDB's Developer Guide (Using write sharding to distribute workloads evenly) without the 1 that the guide adds.
// Texts with the same characters have the same write shard, and short texts use few write shards. For new tables use
// [Calculated]. An n below 1 counts as 1.
func Summed(attr string, n int) int {
	sum := 0
	for _, r := range attr {
		sum += int(r)
	}
	return sum % max(1, n)
}
