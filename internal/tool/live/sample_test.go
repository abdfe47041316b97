package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/tool/report"
)

// sampled reads a plan of the fake's stream, and returns the slices by stream shard and the stream shards.
func (f *fake) sampled(t *testing.T, p report.Plan) (map[string][]*report.Slice, report.Streams) {
	t.Helper()
	got := make(map[string][]*report.Slice)
	last := 0
	source := found()
	source.Source.Indexes, source.Source.VectorIndexes = f.indexes, f.vectors
	s := Sampler{Streams: f.client(), Found: source, Plan: p, Progress: func(done, of int) {
		if done != last+1 || of != p.Strata*len(f.shards) {
			t.Errorf("progress is %d of %d slices after %d, want the next of %d", done, of, last, p.Strata*len(f.shards))
		}
		last = done
	}}
	streams, err := s.Run(t.Context(), func(s *report.Slice) { got[s.StreamShard] = append(got[s.StreamShard], s) })
	if err != nil {
		t.Fatal(err)
	}
	if last != p.Strata*len(f.shards) {
		t.Errorf("progress ended at %d slices, want %d", last, p.Strata*len(f.shards))
	}
	return got, streams
}

// truth returns the units of a stream shard between two times, and by key.
func truth(s *fakeShard, from, to time.Time) (units uint64, keys map[string]uint64) {
	keys = make(map[string]uint64)
	for _, r := range s.records {
		if at := r.created.Truncate(time.Second); !at.Before(from) && at.Before(to) {
			units += uint64(r.units)
			keys[r.key] += uint64(r.units)
		}
	}
	return units, keys
}

// TestSlicesHaveWhatWasWritten checks slices with random traffic, splits and pages. Each has the units of its second or
// of its whole stratum, slices are in order, and calls are paced.
func TestSlicesHaveWhatWasWritten(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	for round := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, round))
			f := &fake{
				pageLimit: 20 + random.IntN(400), emptyPages: []int{0, 7}[round%2],
				attributes: `,"country":{"S":"de"},"city":{"S":"bonn"},"embedding":{"L":[{"N":"1"}]}`,
				vectors:    []ddbstream.VectorIndex{alike(1, "country")},
				indexes:    []secondary.Index{secondary.New("by_place", []string{"country", "city"}, nil, []string{"pk", "sk"}, nil)},
			}
			f.open("")
			f.open("")
			begin := time.Now()
			rates := []int{0, 1, 5, 40}
			rate := 1
			seconds(600, func(second int) {
				if second%60 == 0 {
					rate = rates[random.IntN(len(rates))]
				}
				if second == 200 {
					f.end(f.shards[0], 2)
				}
				for _, s := range f.shards {
					for range random.IntN(rate + 1) {
						if !s.closed {
							f.write(s, fmt.Sprint("k", random.IntN(5)), 1+random.IntN(2))
						}
					}
				}
			})
			time.Sleep(2 * time.Second)
			p, err := report.NewPlan(time.Now().UTC(), time.Since(begin), 1/float64(10+random.IntN(50)), seed)
			if err != nil {
				t.Fatal(err)
			}
			f.calls = nil
			got, streams := f.sampled(t, p)
			whole := 0
			for _, shard := range f.shards {
				for i, s := range got[shard.id] {
					from, to := p.Begin(i), p.Begin(i+1)
					if whole++; !s.Whole {
						whole--
						from = p.Second(shard.id, i)
						to = from.Add(time.Second)
					}
					units, keys := truth(shard, from, to)
					if s.Stratum != i || s.Units != units || len(s.Keys) != len(keys) {
						t.Fatalf("round %d, %s, stratum %d, whole %v: %+v, want %d units %v", round, shard.id, i, s.Whole, s, units, keys)
					}
					if got := s.Indexes[report.IndexKey{Index: "by_place", Key: "de|bonn"}].Units; got != units {
						t.Fatalf("round %d, %s, stratum %d: %d units of the index, want %d", round, shard.id, i, got, units)
					}
					if got := s.Vectors[report.IndexKey{Index: "alike", Key: "de"}].Units; got != 1024*uint64(s.Records) {
						t.Fatalf("round %d, %s, stratum %d: %d bytes of %d writes to the vector index", round, shard.id, i, got, s.Records)
					}
					for key, n := range keys {
						if s.Keys[key].Units != n {
							t.Fatalf("%s has %d units, want %d", key, s.Keys[key].Units, n)
						}
					}
				}
			}
			// The sample may miss all of a stream shard's records if they are few.
			read := slices.ContainsFunc(got[f.shards[0].id], func(s *report.Slice) bool { return s.Units > 0 })
			if len(streams.Shards) != 4 || streams.Shards[2].Parent != f.shards[0].id || streams.Shards[0].First.IsZero() && read {
				t.Errorf("stream shards %+v, want 4 with the parent of the third, and the first record's time", streams)
			}
			t.Logf("%d calls, %d strata of %v whole", len(f.calls), whole, p.Stratum)
			f.checkCalls(t)
		})
	}
}

// TestShareOfBusyStream checks that the sampler reads little more than the requested share of a busy stream.
func TestShareOfBusyStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		begin := time.Now()
		seconds(1000, func(int) {
			for i := range 200 {
				f.write(s, fmt.Sprint(i%10), 1)
			}
		})
		p, err := report.NewPlan(time.Now().UTC(), time.Since(begin), 0.02, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.calls, f.gotRecords = nil, 0
		got, _ := f.sampled(t, p)
		for _, slice := range got[s.id][1:19] {
			if slice.Whole || slice.Units != 200 {
				t.Errorf("slice %+v, want a second of 200 units", slice)
			}
		}
		if f.gotRecords > 2*p.Strata {
			t.Errorf("%d polls for %d slices, want at most two for each", f.gotRecords, p.Strata)
		}
	})
}

// TestSampleWithoutTimes checks that a stream without AT_TIMESTAMP is read whole, and that a throttle ends the sample.
func TestSampleWithoutTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{noTimes: true}
		s := f.open("")
		begin := time.Now()
		seconds(100, func(int) { f.write(s, "a", 1) })
		time.Sleep(2 * time.Second)
		p, err := report.NewPlan(time.Now().UTC(), time.Since(begin), 0.1, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := f.sampled(t, p)
		sum := uint64(0)
		for _, slice := range got[s.id] {
			sum += slice.Units
		}
		if want, _ := truth(s, p.From, p.To()); sum != want || want < 90 {
			t.Errorf("%d units, want %d", sum, want)
		}
		f.failIf(fault{400, "LimitExceededException"}, func(operation string) bool { return operation == "GetRecords" })
		f.calls = nil
		_, err = (&Sampler{Streams: f.client(), Found: found(), Plan: p}).Run(t.Context(), func(*report.Slice) {})
		if err == nil || !strings.Contains(err.Error(), "other readers need their share") || len(f.calls) > 4 {
			t.Errorf("error %v after %d calls, want a throttle after at most 4", err, len(f.calls))
		}
	})
}

// TestExpiredWhileRead checks that strata whose records expire before they are read are left out, not reported as empty.
func TestExpiredWhileRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		begin := time.Now()
		for range 24 * 60 {
			time.Sleep(time.Minute)
			f.write(s, "a", 1)
		}
		p, err := report.NewPlan(time.Now().UTC(), time.Since(begin), 0.02, 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		got, _ := f.sampled(t, p)
		if n := len(got[s.id]); n >= p.Strata || n < p.Strata*20/24 {
			t.Errorf("%d of %d strata are reported, want the newest 20 hours' or more, but not all", n, p.Strata)
		}
		for _, slice := range got[s.id] {
			if p.Begin(slice.Stratum).Before(time.Now().Add(-24 * time.Hour)) {
				t.Fatalf("stratum %d of %v is reported, although its records have expired", slice.Stratum, p.Begin(slice.Stratum))
			}
		}
	})
}
