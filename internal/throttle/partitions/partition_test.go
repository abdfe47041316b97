package partitions

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plainRange is a naive partition: exact tokens and a log of all requests.
type plainRange struct {
	low, last uint64
	tokens    [2]*big.Rat // reads, writes
	at        [2]int64
	log       [2][]visit
}

type visit struct {
	at        int64
	key       uint64
	throttled bool
}

// plainSpace is an unordered list of ranges.
type plainSpace struct {
	ranges []*plainRange
	rates  [2]rate
	split  int64
}

func unitsAsRat(u Units) *big.Rat { return new(big.Rat).SetFrac64(int64(u), int64(Unit)) }

func (r *plainRange) refill(lane int, by rate, now int64) {
	if now <= r.at[lane] {
		return
	}
	more := new(big.Rat).Mul(big.NewRat(now-r.at[lane], int64(time.Second)), big.NewRat(by.perSecond, 1))
	r.tokens[lane] = lesser(more.Add(more, r.tokens[lane]), unitsAsRat(by.capacity))
	r.at[lane] = now
}

// longAtLimit finds the first throttle since the last calm in the log. If it is at least split old, longAtLimit returns the
// keys since then.
func (r *plainRange) longAtLimit(lane int, split, now int64) (keys []uint64) {
	log := r.log[lane]
	if !log[len(log)-1].throttled {
		return nil
	}
	first := len(log) - 1
	for i := first; i >= 0; i-- {
		if log[i].throttled && log[first].at-log[i].at <= int64(calm) {
			first = i
		}
	}
	if now-log[first].at < split {
		return nil
	}
	for _, v := range log[max(first, len(log)-sampleSize):] {
		keys = append(keys, v.key)
	}
	return keys
}

// median returns the lowest of the keys that divide the keys most evenly. It is false if all keys are equal.
func median(keys []uint64) (best uint64, ok bool) {
	uneven := math.MaxInt
	for _, key := range slices.Sorted(slices.Values(keys)) {
		below := 0
		for _, other := range keys {
			if other < key {
				below++
			}
		}
		if off := max(below-len(keys)/2, len(keys)/2-below); below > 0 && off < uneven {
			best, ok, uneven = key, true, off
		}
	}
	return best, ok
}

func (p *plainSpace) find(hash uint64) *plainRange {
	i := slices.IndexFunc(p.ranges, func(r *plainRange) bool { return r.low <= hash && hash <= r.last })
	return p.ranges[i]
}

// request makes a request and reports whether it is admitted.
func (p *plainSpace) request(lane int, hash uint64, cost Units, now int64) bool {
	r := p.find(hash)
	r.refill(lane, p.rates[lane], now)
	throttled := r.tokens[lane].Sign() <= 0
	r.log[lane] = append(r.log[lane], visit{now, hash, throttled})
	if at, ok := median(r.longAtLimit(lane, p.split, now)); ok {
		p.cut(r, at, now)
	}
	if !throttled {
		r.tokens[lane] = new(big.Rat).Sub(r.tokens[lane], unitsAsRat(cost))
	}
	return !throttled
}

func (p *plainSpace) cut(r *plainRange, at uint64, now int64) {
	upper := &plainRange{low: at, last: r.last, at: [2]int64{now, now}}
	r.last = upper.low - 1
	r.log = [2][]visit{}
	for lane := range 2 {
		r.refill(lane, p.rates[lane], now)
		billionths := new(big.Rat).Mul(r.tokens[lane], big.NewRat(int64(Unit), 1)).Num().Int64()
		upper.tokens[lane] = unitsAsRat(Units(billionths / 2))
		r.tokens[lane] = new(big.Rat).Sub(r.tokens[lane], upper.tokens[lane])
	}
	p.ranges = append(p.ranges, upper)
}

// limitsOf returns limits in AWS's proportions, by the clock now.
func limitsOf(partitions, wcu int, now *time.Time) Limits {
	return Limits{
		Partitions: partitions, PartitionWCU: wcu, PartitionRCU: 3 * wcu,
		Now: func() time.Time { return *now },
	}
}

// TestSplitsAgainstPlainModel compares admissions, and the last ranges and tokens, with a model that logs all requests.
func TestSplitsAgainstPlainModel(t *testing.T) {
	runs, splits := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		limits := limitsOf(rapid.IntRange(1, 2).Draw(t, "partitions"), rapid.IntRange(1, 2).Draw(t, "WCU"), &now)
		limits.SplitAfter = time.Second
		g := New(limits)
		s := g.NewSpace(Resource{}, Throughput{})
		model := &plainSpace{rates: [2]rate{g.reads, g.writes}, split: int64(limits.SplitAfter)}
		for i, part := range s.partitions {
			last := uint64(math.MaxUint64)
			if i+1 < len(s.partitions) {
				last = s.partitions[i+1].low.hash - 1
			}
			model.ranges = append(model.ranges, &plainRange{low: part.low.hash, last: last, at: [2]int64{g.now(), g.now()},
				tokens: [2]*big.Rat{unitsAsRat(g.reads.capacity), unitsAsRat(g.writes.capacity)}})
		}
		hashes := rapid.SliceOfN(rapid.Uint64(), 1, 5).Draw(t, "keys")
		// A partition splits only if it stays at its limit, so half of the runs have no long pause.
		pauses := rapid.SampledFrom([]int64{1e8, 12e9}).Draw(t, "pauses")
		for range rapid.IntRange(300, 600).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e8), rapid.Int64Range(0, 1e8), rapid.Int64Range(0, 1e8), rapid.Int64Range(0, pauses)).Draw(t, "wait")))
			lane := min(1, rapid.IntRange(0, 3).Draw(t, "lane")) // mostly writes
			hash := rapid.SampledFrom(hashes).Draw(t, "key")
			cost := rapid.SampledFrom([]Units{Unit / 2, Unit, 2 * Unit}).Draw(t, "cost")
			c := Charge{Place{Space: s, point: point{hash: hash}, one: true}, lane == 1, cost}
			if got, want := g.Admit([]Charge{c}) == nil, model.request(lane, hash, cost, g.now()); got != want {
				t.Fatalf("admitted: %t, want %t", got, want)
			}
		}
		compare(t, s, model)
		runs++
		splits += len(s.partitions) - limits.Partitions
	})
	if splits == 0 {
		t.Errorf("%d runs had no split", runs)
	}
}

func compare(t *rapid.T, s *Space, model *plainSpace) {
	if len(s.partitions) != len(model.ranges) {
		t.Fatalf("%d partitions, want %d", len(s.partitions), len(model.ranges))
	}
	for _, p := range s.partitions {
		want := model.find(p.low.hash)
		if want.low != p.low.hash {
			t.Fatalf("a partition begins at %v, want %x", p.low, want.low)
		}
		for lane, got := range []bucket{p.reads.bucket, p.writes.bucket} {
			if unitsAsRat(got.tokens).Cmp(want.tokens[lane]) != 0 {
				t.Fatalf("%v tokens in lane %d, want %v", got.tokens.Float(), lane, want.tokens[lane])
			}
		}
	}
}

// TestFirstPartitions checks that the initial ranges are equal and agree with Partition.
func TestFirstPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		limits := limitsOf(rapid.IntRange(1, MaxPartitions).Draw(t, "partitions"), 1, &now)
		limits.Seed = rapid.Uint64().Draw(t, "seed")
		g := New(limits)
		s := g.NewSpace(Resource{}, Throughput{})
		if n := len(s.partitions); n != limits.Partitions || s.partitions[0].low != (point{}) {
			t.Fatalf("%d partitions, the first from %v", n, s.partitions[0].low)
		}
		for _, key := range rapid.SliceOfN(rapid.String(), 1, 20).Draw(t, "keys") {
			if got, want := s.index(point{hash: g.hash(key)}), g.Partition(key); got != want {
				t.Fatalf("%q is on %d, want %d", key, got, want)
			}
		}
		for _, p := range s.partitions[1:] {
			if i := s.index(p.low); s.index(point{p.low.hash - 1, "\xff"}) != i-1 {
				t.Fatalf("no range ends before %v", p.low)
			}
		}
	})
}

// TestSplitsEnd checks that a partition of one hash is not split, and that there are at most MaxPartitions.
func TestSplitsEnd(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(1, 1, &now))
	s := g.NewSpace(Resource{}, Throughput{})
	for range 100 {
		s.halve(0, g.now())
	}
	if len(s.partitions) != 65 {
		t.Errorf("%d partitions, want 65: 64 halvings leave one hash", len(s.partitions))
	}
	for i := 0; len(s.partitions) < MaxPartitions && i < 2*MaxPartitions; i++ {
		s.halve(s.index(point{hash: g.hash(time.Duration(i).String())}), g.now())
	}
	s.halve(s.index(point{hash: math.MaxUint64 / 3}), g.now())
	if len(s.partitions) != MaxPartitions {
		t.Errorf("%d partitions, want %d", len(s.partitions), MaxPartitions)
	}
}
