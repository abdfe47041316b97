package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"
)

// MaxShards is the largest shard count that is ever planned.
const MaxShards = 1000

// Random returns a write shard from 0 to n-1, each with the same chance. It
// suits writes that nobody looks up singly: a reader has to gather all n. It is
// safe for concurrent use and panics when n is not positive.
func Random(n int) int {
	mustCount(n)
	return rand.IntN(n)
}

// Calculated returns the write shard, 0 to n-1, that attr always has among n: a
// writer that retries lands on the same item and a reader that knows attr needs
// one GetItem.
//
// The shard is the SHA-256 digest of attr's bytes, read as one big-endian
// integer, modulo n. This is a stored format. It equals what
// int(hashlib.sha256(attr.encode()).hexdigest(), 16) % n gives in Python. It
// panics when n is not positive.
func Calculated(attr string, n int) int {
	mustCount(n)
	digest := sha256.Sum256([]byte(attr))
	var rest uint64
	for i := 0; i < len(digest); i += 8 {
		rest = bits.Rem64(rest, binary.BigEndian.Uint64(digest[i:]), uint64(n))
	}
	return int(rest)
}

// Summed returns the write shard, 0 to n-1, that attr has among n by the sum of its code
// points: what the Developer Guide of DynamoDB calculates, but for the 1 that it adds
// (Using write sharding to distribute workloads evenly). Texts with the same characters
// have the same write shard, and short ones few different ones, so new tables are better off
// with [Calculated]. It panics when n is not positive.
func Summed(attr string, n int) int {
	mustCount(n)
	sum := 0
	for _, r := range attr {
		sum += int(r)
	}
	return sum % n
}

func mustCount(n int) {
	if n < 1 {
		panic(fmt.Sprintf("shard: shard count %d is not positive", n))
	}
}

// Jitter returns a random delay in [0, most), for clients that would otherwise all
// write at the same instant: on the minute, at a deploy, after an outage. It is 0
// when most is not positive. [Bucket.Offset] is the delay that stays the same.
func Jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}
