package ddbstream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// exact is a sketch, and the exact weights that were added to it.
type exact struct {
	sketch *ddbstream.Sketch
	limits ddbstream.SketchLimits
	counts map[string]uint64           // weights by key
	adds   map[string]uint64           // calls of Add by key
	peaks  map[string]map[int64]uint64 // weights by key and second
	total  uint64
	widest int // length of the longest key
}

func newExact(limits ddbstream.SketchLimits) *exact {
	return &exact{
		sketch: ddbstream.NewSketch(limits), limits: limits,
		counts: make(map[string]uint64), adds: make(map[string]uint64), peaks: make(map[string]map[int64]uint64),
	}
}

// add adds weight, by a buffer that is used again.
func (x *exact) add(key string, weight uint64, second int64) {
	buffer := []byte(key)
	x.sketch.Add(buffer, weight, second)
	clear(buffer)
	x.counts[key] += weight
	if weight > 0 {
		x.adds[key]++
	}
	if x.peaks[key] == nil {
		x.peaks[key] = make(map[int64]uint64)
	}
	x.peaks[key][second] += weight
	x.total += weight
	x.widest = max(x.widest, len(key))
}

// capacity returns the number of entries that fit if all keys are as long as the longest, less one.
func (x *exact) capacity() uint64 {
	return uint64(max(1, min(x.limits.Entries, x.limits.Bytes/(x.widest+ddbstream.SketchEntryBytes)-1)))
}

// check checks the sketch's size, and each of its bounds by the exact weights. With seconds in order, the peak of an
// entry without an error is exact.
func (x *exact) check(inOrder bool) error {
	s := x.sketch
	if s.Total() != x.total || len(s.Entries()) > x.limits.Entries || (s.Bytes() > x.limits.Bytes && len(s.Entries()) > 1) {
		return fmt.Errorf("total %d, %d entries, %d bytes; want %d and the limits %+v", s.Total(), len(s.Entries()), s.Bytes(), x.total, x.limits)
	}
	if s.Floor() > x.total/x.capacity() {
		return fmt.Errorf("floor %d is above %d/%d", s.Floor(), x.total, x.capacity())
	}
	entries := make(map[string]ddbstream.SketchEntry)
	for _, e := range s.Entries() {
		entries[e.Key] = e
	}
	for key, count := range x.counts {
		e, ok := entries[key]
		peak := slices.Max(slices.Collect(maps.Values(x.peaks[key])))
		switch {
		case !ok && count > s.Floor():
			return fmt.Errorf("%q weighs %d, above the floor of %d, and has no entry", key, count, s.Floor())
		case ok && (count > e.Count || count < e.Low()):
			return fmt.Errorf("%q weighs %d, outside of %d to %d", key, count, e.Low(), e.Count)
		case ok && (e.Adds > x.adds[key] || e.Err == 0 && e.Adds != x.adds[key]):
			return fmt.Errorf("%q has %d adds, want %d", key, e.Adds, x.adds[key])
		case e.Peak > peak, ok && inOrder && e.Err == 0 && e.Peak != peak:
			return fmt.Errorf("%q has a peak of %d, want %d", key, e.Peak, peak)
		}
	}
	return nil
}

func genLimits(t *rapid.T) ddbstream.SketchLimits {
	return ddbstream.SketchLimits{Entries: rapid.IntRange(1, 40).Draw(t, "entries"), Bytes: rapid.IntRange(300, 3000).Draw(t, "bytes")}
}

// TestBounds checks that all bounds hold for random streams.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newExact(genLimits(t))
		inOrder := rapid.Bool().Draw(t, "in order")
		second := int64(0)
		for range rapid.IntRange(0, 300).Draw(t, "updates") {
			n := rapid.IntRange(0, 60).Draw(t, "key")
			key := strings.Repeat("k", n%7*n%200) + fmt.Sprint(n)
			if inOrder {
				second += int64(rapid.IntRange(0, 1).Draw(t, "step"))
			} else {
				second = int64(rapid.IntRange(0, 10).Draw(t, "second"))
			}
			x.add(key, uint64(rapid.SampledFrom([]int{0, 1, 1, 1, 2, 400}).Draw(t, "weight")), second)
		}
		require.NoError(t, x.check(inOrder))
	})
}

// TestNoEvictionIsExact checks that all entries are exact before the first eviction, which raises the floor.
func TestNoEvictionIsExact(t *testing.T) {
	s := ddbstream.NewSketch(ddbstream.SketchLimits{Entries: 3, Bytes: 1000})
	for i, key := range []string{"b", "a", "b", "c", "a", "b"} {
		s.Add([]byte(key), 2, int64(i/2))
	}
	want := []ddbstream.SketchEntry{
		{Key: "b", Count: 6, Peak: 2, PeakSecond: 0, Second: 2, SecondWeight: 2, Adds: 3},
		{Key: "a", Count: 4, Peak: 2, PeakSecond: 0, Second: 2, SecondWeight: 2, Adds: 2},
		{Key: "c", Count: 2, Peak: 2, PeakSecond: 1, Second: 1, SecondWeight: 2, Adds: 1},
	}
	if diff := cmp.Diff(want, s.Entries()); diff != "" || s.Floor() != 0 {
		t.Errorf("floor %d, entries (-want +got):\n%s", s.Floor(), diff)
	}
	s.Add([]byte("d"), 1, 3)
	if got := s.Entries(); got[0].Key != "b" || s.Floor() != 2 || len(got) != 3 {
		t.Errorf("after an eviction: entries %+v, floor %d; want b first of 3, and a floor of 2", got, s.Floor())
	}
}

// TestLateSecond checks that weight for an earlier second counts for the peak only if that is the peak second.
func TestLateSecond(t *testing.T) {
	s := ddbstream.NewSketch(ddbstream.SketchLimits{Entries: 1, Bytes: 100})
	for _, add := range []struct{ weight, second int64 }{{5, 1}, {3, 2}, {2, 1}, {3, 2}, {100, 0}} {
		s.Add([]byte("k"), uint64(add.weight), add.second)
	}
	if e := s.Entries()[0]; e.Peak != 7 || e.PeakSecond != 1 || e.Count != 113 {
		t.Errorf("entry %+v, want a count of 113 and a peak of 7 in second 1", e)
	}
}

// TestCodec checks that a decoded sketch behaves like the encoded one, and that the encoding's size is bounded.
func TestCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := genLimits(t)
		s := ddbstream.NewSketch(limits)
		add := func(s *ddbstream.Sketch, n, i int) {
			s.Add([]byte(strings.Repeat("é", n%50)+fmt.Sprint(n)), uint64(n), int64(i)+1_767_589_200)
		}
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 90), 0, 150).Draw(t, "first") {
			add(s, n, i/10)
		}
		encoded := s.AppendBinary([]byte("x"))
		if limit := s.Bytes() + 1 + 40; len(encoded) > limit {
			t.Fatalf("encoded in %d bytes, want at most %d", len(encoded), limit)
		}
		decoded, err := ddbstream.DecodeSketch(encoded[1:], limits)
		require.NoError(t, err)
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 90), 0, 50).Draw(t, "then") {
			add(s, n, 20+i)
			add(decoded, n, 20+i)
		}
		if diff := cmp.Diff(s.AppendBinary(nil), decoded.AppendBinary(nil)); diff != "" {
			t.Fatalf("after the same adds (-original +decoded):\n%s", diff)
		}
	})
}

// TestDecodeDamaged checks that a cut or extended encoding is an error, that no damage makes Decode or Add panic, and
// that a sketch decodes with tighter limits.
func TestDecodeDamaged(t *testing.T) {
	limits := ddbstream.SketchLimits{Entries: 5, Bytes: 1000}
	s := ddbstream.NewSketch(limits)
	for i := range 20 {
		s.Add(fmt.Append(nil, "key-", i%7), uint64(1+i), int64(i))
	}
	good := s.AppendBinary(nil)
	for n := range len(good) {
		if _, err := ddbstream.DecodeSketch(good[:n], limits); err == nil {
			t.Errorf("the first %d bytes decode", n)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		bad := slices.Clone(good)
		for range 1 + rng.IntN(3) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		if s, err := ddbstream.DecodeSketch(bad, limits); err == nil {
			s.Add([]byte("one more"), 1, 1)
		}
	}
	if _, err := ddbstream.DecodeSketch(append(good, 0), limits); err == nil {
		t.Error("an encoding with one more byte decodes")
	}
	tight, err := ddbstream.DecodeSketch(good, ddbstream.SketchLimits{Entries: 2, Bytes: 1000})
	if err != nil || len(tight.Entries()) != 2 || tight.Floor() < s.Floor() {
		t.Errorf("with tighter limits: %v, %d entries, floor %d; want 2 entries and a floor of %d or more", err, len(tight.Entries()), tight.Floor(), s.Floor())
	}
}
