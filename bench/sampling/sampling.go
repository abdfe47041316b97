// Package sampling measures how much a report over a sample of a stream finds, and how
// often its intervals hold: over tables whose days are generated, so that the truth is known.
package sampling

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/report"
)

// Program is the experiment.
var Program = rig.Program{Name: "sampling", About: "what a report over a sample of a stream finds, and how often its intervals hold", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	tables := f.Int("tables", 1000, "generated, each with a day of its own")
	share := f.Float64("share", 0.02, "of the stream that is read")
	seed := f.Uint64("seed", 1, "of all that is drawn")
	return func(ctx context.Context, r *rig.Run) error {
		if *tables < 1 {
			return errors.New("-tables: want 1 or more")
		}
		fmt.Fprintf(r, "%d tables a row, seed %d. A day each on 4 stream shards, 40 keys of a shard with rates by Zipf, together 400 write units a second; two storms of a minute at twice the threshold of 700, on keys of their own. %v of the stream is read.\n\n%s", *tables, *seed, *share, header)
		for _, burst := range []float64{0, 0.1, 0.3} {
			if err := measure(ctx, r, *tables, *share, *seed, burst); err != nil {
				return err
			}
		}
		return nil
	}
}}

const header = `| a second's rate varies by | storms | found | in the interval | a storm's key in a column: in the interval | not seen in it | the 10 heaviest keys of a stream shard in a column: in the interval | false storms |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// The generated tables.
const (
	streamShards = 4
	keys         = 40    // a stream shard
	calm         = 400.0 // units a second of a stream shard
	hotRate      = 700.0
	storms       = 2
	stormLength  = time.Minute
	day          = 24 * time.Hour
)

// figures are what came of all tables.
type figures struct{ storms, found, held, stormy, stormyHeld, unseen, quiet, quietHeld, wrong atomic.Int64 }

func measure(ctx context.Context, r *rig.Run, tables int, share float64, seed uint64, burst float64) error {
	var f figures
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	var mu sync.Mutex
	var first error
	for i := range tables {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := one(&f, share, rand.New(rand.NewPCG(seed, uint64(i))), seed+uint64(i), burst); err != nil {
				mu.Lock()
				defer mu.Unlock()
				first = err
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), first); err != nil {
		return err
	}
	percent := func(a, b *atomic.Int64) string {
		return fmt.Sprintf("%.1f %%", 100*float64(a.Load())/float64(max(1, b.Load())))
	}
	fmt.Fprintf(r, "| %.0f %% | %d | %s | %s | %s of %d | %d | %s of %d | %d |\n", 100*burst, f.storms.Load(), percent(&f.found, &f.storms), percent(&f.held, &f.found),
		percent(&f.stormyHeld, &f.stormy), f.stormy.Load(), f.unseen.Load(), percent(&f.quietHeld, &f.quiet), f.quiet.Load(), f.wrong.Load())
	return nil
}

// storm is one of a generated day: a key has this rate from a second on.
type storm struct {
	shard int
	key   string
	from  time.Time
	rate  float64
}

// table is a generated day.
type table struct {
	random *rand.Rand
	begin  time.Time
	rates  [streamShards][keys]float64
	storms []storm
	burst  float64
}

func newTable(random *rand.Rand, burst float64) *table {
	t := &table{random: random, begin: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), burst: burst}
	for s := range streamShards {
		sum := 0.0
		for k := range keys {
			t.rates[s][k] = 1 / float64(k+1)
			sum += t.rates[s][k]
		}
		for k := range keys {
			t.rates[s][k] *= calm / sum
		}
	}
	for i := range storms {
		from := t.begin.Add(time.Duration(random.Int64N(int64(day - stormLength))))
		t.storms = append(t.storms, storm{random.IntN(streamShards), fmt.Sprint("storm", i), from, 2 * hotRate})
	}
	return t
}

// noisy is a second's rate.
func (t *table) noisy(rate float64) float64 {
	return rate * max(0, 1+t.burst*t.random.NormFloat64())
}

// poisson draws a count.
func (t *table) poisson(mean float64) uint64 {
	if mean > 50 {
		return uint64(math.Max(0, math.Round(mean+math.Sqrt(mean)*t.random.NormFloat64())))
	}
	n, p, limit := uint64(0), 1.0, math.Exp(-mean)
	for {
		if p *= t.random.Float64(); p <= limit {
			return n
		}
		n++
	}
}

func name(shard, key int) string { return fmt.Sprintf("user#%d-%02d", shard, key) }

// overlap is how many seconds of a storm lie in a time.
func (s *storm) overlap(from, to time.Time) float64 {
	begin, end := s.from, s.from.Add(stormLength)
	if from.After(begin) {
		begin = from
	}
	if to.Before(end) {
		end = to
	}
	return max(0, end.Sub(begin).Seconds())
}

// second is what is written to a stream shard in a second.
func (t *table) second(shard int, at time.Time) *report.Slice {
	s := &report.Slice{Keys: map[string]report.Tally{}}
	add := func(key string, mean float64) {
		if n := t.poisson(t.noisy(mean)); n > 0 {
			s.Keys[key] = report.Tally{Units: n, Writes: int(n)}
			s.Units += n
			s.Records += int(n)
		}
	}
	for k, rate := range t.rates[shard] {
		add(name(shard, k), rate)
	}
	for _, st := range t.storms {
		if in := st.overlap(at, at.Add(time.Second)); st.shard == shard && in > 0 {
			add(st.key, st.rate*in)
		}
	}
	return s
}

// truth is what a key took in a time, all seconds of which are drawn as one.
func (t *table) truth(rate, seconds float64) float64 {
	return rate*seconds + math.Sqrt(seconds*(rate+t.burst*t.burst*rate*rate))*t.random.NormFloat64()
}

func one(f *figures, share float64, random *rand.Rand, seed uint64, burst float64) error {
	t := newTable(random, burst)
	plan, err := report.NewPlan(t.begin.Add(day), day, share, seed)
	if err != nil {
		return err
	}
	r := report.FromSample(report.Settings{Table: "t", Foreign: true, From: plan.From, To: plan.To(), Limit: 1000, HotRate: hotRate, Rows: 256}, plan)
	for s := range streamShards {
		id := fmt.Sprint("shard-", s)
		for i := range plan.Strata {
			slice := t.second(s, plan.Second(id, i))
			slice.StreamShard, slice.Stratum = id, i
			r.Add(slice)
		}
	}
	found := r.Storms()
	right := map[string]bool{}
	for _, st := range t.storms {
		f.storms.Add(1)
		right[st.key] = true
		for _, got := range found {
			if got.Key != st.key {
				continue
			}
			f.found.Add(1)
			if got.Low <= st.rate && st.rate <= got.High {
				f.held.Add(1)
			}
			break
		}
	}
	for _, got := range found {
		if !right[got.Key] && !t.stormyAt(got.From) {
			f.wrong.Add(1)
		}
	}
	t.columns(f, r, plan)
	return nil
}

// stormyAt tells whether a storm was on then: a stream shard as a whole may be told to be
// hot in a second in which the storm's key alone is not.
func (t *table) stormyAt(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return false
	}
	for _, st := range t.storms {
		if st.overlap(at, at.Add(time.Second)) > 0 {
			return true
		}
	}
	return false
}

// columns compares intervals of columns with what was written in them.
func (t *table) columns(f *figures, r *report.Sampled, plan report.Plan) {
	n, each := r.Columns()
	for c := range n {
		from := plan.From.Add(time.Duration(c) * each)
		to := from.Add(each)
		for _, st := range t.storms {
			seconds := st.overlap(from, to)
			if seconds == 0 {
				continue
			}
			truth := t.truth(st.rate, seconds)
			low, high, ok := r.Interval(st.key, c)
			if !ok {
				f.unseen.Add(1)
				continue
			}
			f.stormy.Add(1)
			if low <= truth && truth <= high {
				f.stormyHeld.Add(1)
			}
		}
		for s := range streamShards {
			for k := range 10 {
				f.quiet.Add(1)
				truth := t.truth(t.rates[s][k], each.Seconds())
				if low, high, ok := r.Interval(name(s, k), c); ok && low <= truth && truth <= high {
					f.quietHeld.Add(1)
				}
			}
		}
	}
}
