package hotkey

import (
	"bytes"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// sighting is one record that tells what a writer saw: see package schema.
type sighting struct {
	base      schema.BaseKey
	second    int64  // Unix
	writer    uint64 // hash of its id
	offered   uint64 // tenths of a write unit
	unripe    bool   // offered is not of a whole second yet
	throttled uint64
	failed    uint64
	shards    map[int]uint64 // throttled attempts by write shard
}

// parseSighting reads a sighting. Whatever is not one, in whichever way, is false:
// a table may be anyone's.
func parseSighting(rec *ddbstream.Record, pk []byte) (s sighting, ok bool) {
	if rec.Name == ddbstream.Remove || !bytes.HasPrefix(pk, []byte(schema.SightingPrefix)) {
		return s, false
	}
	sk, _ := rec.Keys.String(schema.SK)
	base, at, writer, err := schema.ParseSightingKey(string(pk), sk)
	if err != nil {
		return s, false
	}
	offered, ok := amount(rec.New, schema.Offered, 10)
	s = sighting{base: base, second: at.Unix(), writer: hash(writer), offered: offered, shards: map[int]uint64{}}
	ripe, told := rec.New.Bool(schema.Ripe)
	s.unripe = told && !ripe
	s.throttled, _ = amount(rec.New, schema.Throttled, 1)
	s.failed, _ = amount(rec.New, schema.FailedUnits, 1)
	numbers, _ := rec.New.Numbers(schema.Shards)
	for digits, count := range numbers {
		n, err1 := strconv.Atoi(digits)
		attempts, err2 := strconv.ParseUint(count, 10, 32)
		if err1 == nil && err2 == nil && n >= 0 && n < shard.MaxShards && attempts > 0 {
			s.shards[n] = attempts
		}
	}
	return s, ok
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// amount reads a number that is not negative and fits well in 32 bits, in parts of
// one.
func amount(image ddbstream.Image, attr string, parts float64) (uint64, bool) {
	digits, ok := image.Number(attr)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(f >= 0) || f > math.MaxUint32 {
		return 0, false
	}
	return uint64(math.Round(f * parts)), true
}

// parseBeat reads a beat: the write shard that it was put beside and when.
func parseBeat(rec *ddbstream.Record, pk []byte) (name string, n int, at time.Time, ok bool) {
	if rec.Name == ddbstream.Remove || !rec.New.Has(schema.Beat) {
		return "", 0, at, false
	}
	if sk, _ := rec.Keys.Key(schema.SK); string(sk) != schema.BeatSK {
		return "", 0, at, false
	}
	digits, _ := rec.New.Number(schema.Beat)
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms < 0 {
		return "", 0, at, false
	}
	if _, err := schema.ParseKey(string(pk)); err != nil {
		return "", 0, at, false
	}
	name, n, err = shard.Hash.Split(string(pk))
	return name, n, time.UnixMilli(ms).UTC(), err == nil && n < shard.MaxShards
}

// sighted is what a window's sightings of one base key come to.
type sighted struct {
	throttled uint64         // attempts, on whichever write shard
	shards    map[int]uint64 // those whose write shard is known
	failed    uint64         // write units
	offered   uint64         // tenths of a unit, in the second with the most
	samples   []sample       // of the newest two seconds
}

// sample is what one writer last said of one second.
type sample struct {
	second  int64
	writer  uint64
	offered uint64
	unripe  bool
}

// maxSamples bounds the writers that are told apart, over two seconds. What more
// of them offer is not counted, so that the rate is a lower bound.
const maxSamples = 1000

// offer takes a writer's rate in a second. The rate of a second is the sum of the
// latest that each writer said. Writers' clocks differ, so two seconds are open at
// a time.
func (s *sighted) offer(in sighting) {
	newest := in.second
	for _, have := range s.samples {
		newest = max(newest, have.second)
	}
	if in.second < newest-1 {
		return
	}
	kept := s.samples[:0]
	for _, have := range s.samples {
		if have.second >= newest-1 && (have.second != in.second || have.writer != in.writer) {
			kept = append(kept, have)
		}
	}
	s.samples = kept
	if len(s.samples) < maxSamples {
		s.samples = append(s.samples, sample{in.second, in.writer, in.offered, in.unripe})
	}
	sum := uint64(0)
	for _, have := range s.samples {
		if have.second == in.second {
			sum += have.offered
		}
	}
	s.offered = max(s.offered, sum)
}

// waiting tells whether a writer is yet to know its rate: what it last said was of
// less than a second.
func (s *sighted) waiting() bool {
	newest := make(map[uint64]sample)
	for _, have := range s.samples {
		if last, ok := newest[have.writer]; !ok || have.second >= last.second {
			newest[have.writer] = have
		}
	}
	for _, last := range newest {
		if last.unripe {
			return true
		}
	}
	return false
}
