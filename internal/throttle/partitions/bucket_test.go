package partitions

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBucketAgainstRationals compares a bucket with arithmetic that neither rounds nor overflows.
func TestBucketAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.IntRange(1, 1_000_000).Draw(t, "units a second")
		burst := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "burst"))
		r := newRate(perSecond, burst)
		now := rapid.Int64Range(0, 1<<62).Draw(t, "start")
		b := bucket{r.capacity, now}
		capacity := new(big.Rat).Mul(big.NewRat(int64(perSecond), 1), big.NewRat(int64(burst), int64(time.Second)))
		tokens := new(big.Rat).Set(capacity)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			wait := rapid.OneOf(rapid.Int64Range(-10, 1e10), rapid.Int64Range(0, 1<<57)).Draw(t, "wait")
			half := rapid.Int64Range(-2, 1e6).Draw(t, "half units")
			now += wait
			b.refill(r, now)
			if wait < 0 {
				now -= wait
			} else {
				refill := new(big.Rat).Mul(big.NewRat(wait, int64(time.Second)), big.NewRat(int64(perSecond), 1))
				tokens = lesser(tokens.Add(tokens, refill), capacity)
			}
			b.debit(r, Units(half)*Unit/2)
			tokens = lesser(tokens.Sub(tokens, big.NewRat(half, 2)), capacity)
			if want := new(big.Rat).SetFrac64(int64(b.tokens), int64(Unit)); tokens.Cmp(want) != 0 {
				t.Fatalf("%v tokens, want %v", want, tokens)
			}
			checkPositiveAt(t, b, r)
		}
	})
}

func lesser(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) <= 0 {
		return a
	}
	return new(big.Rat).Set(b)
}

// checkPositiveAt checks that positiveAt returns the first nanosecond at which the bucket is positive.
func checkPositiveAt(t *rapid.T, b bucket, r rate) {
	at := b.positiveAt(r)
	if b.tokens > 0 {
		if at != b.refilled {
			t.Fatalf("positiveAt is %d ns after now, but the bucket is positive", at-b.refilled)
		}
		return
	}
	early, late := b, b
	early.refill(r, at-1)
	late.refill(r, at)
	if early.tokens > 0 || late.tokens <= 0 {
		t.Fatalf("%d tokens before positiveAt and %d at it, want none and some", early.tokens, late.tokens)
	}
}
