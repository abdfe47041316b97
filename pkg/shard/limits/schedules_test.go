package limits_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// schedule is a random order of calls of three processes, with growth, pins, throttles, conflicts, lost and late writes.
type schedule struct {
	*testing.T
	*store
	*rand.Rand
	name      string
	limits    []limits.Limit
	now       time.Time
	processes []*limits.Limiter
	views     [3]*shardmap.Map // of the processes
	skew      [3]time.Duration // of the processes' clocks
	faults    bool
	depth     int
	late      []func() error // writes whose callers got an error, to be applied
	disturbed bool           // another call or a late write was made during a call
}

// edges are times at which windows begin: of leap years and others, and at which months change their length.
var edges = []time.Time{
	time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2400, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 5, 1, 0, 0, 0, 0, time.UTC),
}

// stale is the process that doesn't know the newest change yet, so that it misses the write shards that others hit already.
const stale = 0

var modelWindows = []time.Duration{
	time.Second, 7 * time.Second, time.Minute, 17 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 168 * time.Hour, 720 * time.Hour, limits.Month,
}

// run runs a schedule. At its end each limit that has not reached its maximum gets enough hits to reach it.
func (s *schedule) run() {
	s.now = edges[s.IntN(len(edges))].Add(time.Duration(s.IntN(8000)-4000) * time.Millisecond)
	for _, i := range s.Perm(len(modelWindows))[:1+min(s.IntN(10), s.IntN(10))] {
		s.limits = append(s.limits, limits.Limit{Key: "k", Max: 1 + s.Int64N(1+s.Int64N(3000)), Window: modelWindows[i], Sliding: s.IntN(4) == 0})
	}
	for p := range s.skew {
		s.skew[p] = time.Duration(s.IntN(1000)-500) * time.Millisecond
	}
	begun := s.now
	s.faults = true
	for era := range 2 { // the processes' views differ in changes that have not taken effect
		history := []string{s.change(begun.AddDate(-1, 0, 0)), s.change(begun.Add(-6 * time.Second))}
		if era > 0 {
			history = append(history, s.change(begun.Add(11*time.Second)))
			s.now = begun.Add(12 * time.Second)
		}
		s.processes = nil
		for p := range 3 {
			known := history
			if p != stale { // growth or a pin takes effect later
				known = append(history[:len(history):len(history)], s.change(begun.Add(time.Duration(11+9*era)*time.Second)))
			}
			s.views[p] = libtest.MapOf("R#k", known...)
			s.processes = append(s.processes, limits.New(s.store, "t", s.views[p], limits.Options{}))
		}
		for range 6 + s.IntN(10) {
			s.call()
			s.now = s.now.Add(time.Duration(s.IntN(700)) * time.Millisecond)
		}
	}
	s.faults = false
	for len(s.late) > 0 {
		s.applyLate()
	}
	s.now = s.now.Add(2 * time.Second) // then a process sees what others gave back
	for _, limit := range s.limits {
		s.exhaust(limit)
	}
}

// change returns a change of the shard count, to the same count for the same time.
func (s *schedule) change(at time.Time) string {
	return fmt.Sprintf("%d:%d", at.Unix(), 1+uint64(at.Unix()*31+s.limits[0].Max)%7)
}

// call makes a call of a random process with hits of some limits, and checks what it counted.
func (s *schedule) call() {
	p := s.IntN(3)
	now := s.now.Add(s.skew[p])
	var hits []limits.Hits
	for _, i := range s.Perm(len(s.limits))[:1+s.IntN(len(s.limits))] {
		n := 1 + s.Int64N(1+s.Int64N(1000))
		switch s.IntN(6) {
		case 0:
			n = -n
		case 1, 2:
			n = 1
		}
		hits = append(hits, limits.Hits{Limit: s.limits[i], N: n})
	}
	before, was := s.totals(now), s.disturbed
	s.disturbed = false
	list, err := s.processes[p].HitAll(s.Context(), hits, now)
	alone := !s.disturbed
	s.disturbed = was || !alone || s.depth > 0
	if err != nil {
		if !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled) {
			s.Errorf("%s: %v", s.name, err)
		}
		return
	}
	allowed := true
	for _, v := range list {
		allowed = allowed && v.Allowed
	}
	after := s.totals(now)
	for i, h := range hits {
		counted := h.N
		if !allowed {
			counted = 0
		}
		counted = max(counted, -before[h.Limit])
		v := list[i]
		exact := alone && (p != stale || h.N > 0)
		if exact && after[h.Limit]-before[h.Limit] != counted || v.Used > h.Max || v.Used < 0 || v.Remaining != h.Max-v.Used || h.N < 0 && !v.Allowed {
			s.Errorf("%s: %+v of %+v (all allowed: %t, alone: %t) changed %d to %d", s.name, v, h, allowed, alone, before[h.Limit], after[h.Limit])
		}
	}
}

// totals returns the hits of each limit in its window at a time, and checks I20.
func (s *schedule) totals(now time.Time) map[limits.Limit]int64 {
	totals := map[limits.Limit]int64{}
	for _, limit := range s.limits {
		sum := s.total(s.prefix(limit, limit.Start(now)))
		if sum < 0 || sum > limit.Max {
			s.Fatalf("%s: %d hits of %+v: %v", s.name, sum, limit, s.used)
		}
		totals[limit] = sum
	}
	return totals
}

func (s *schedule) prefix(limit limits.Limit, start time.Time) string {
	return fmt.Sprintf("R#k#%d#%d#", limit.Window/time.Second, start.Unix())
}

// exhaust makes hits until not even one is allowed, and checks that the limit is reached exactly. A new process makes those of a
// sliding limit, since other processes may have cached the previous window before late hits.
func (s *schedule) exhaust(limit limits.Limit) {
	l, want := s.processes[1+s.IntN(2)], limit.Max
	if limit.Sliding {
		l = limits.New(s.store, "t", s.views[2], limits.Options{})
		start := limit.Start(s.now)
		end := start.Add(limit.Window)
		if limit.Window == limits.Month {
			end = start.AddDate(0, 1, 0)
		}
		before := s.total(s.prefix(limit, limit.Start(start.Add(-1))))
		weight := before - before*int64(s.now.Sub(start))/int64(end.Sub(start))
		want = max(limit.Max-weight, s.totals(s.now)[limit])
	}
	for n := int64(1024); n > 0; {
		v, err := l.HitN(s.Context(), limit, n, s.now)
		if err != nil {
			s.Fatalf("%s: %v", s.name, err)
		}
		if !v.Allowed {
			n /= 2
		}
	}
	// Write shards may have used more than their shares of what is left now, if late hits raised the previous window's use.
	if got := s.totals(s.now)[limit]; got < want || got > want && !limit.Sliding {
		s.Errorf("%s: %d hits of %+v in the end, want %d: %v", s.name, got, limit, want, s.used)
	}
}

// brownOut is an error of DynamoDB after which the outcome of a write is unknown, and no other attempt is made.
type brownOut struct{}

func (brownOut) Error() string                 { return "internal server error" }
func (brownOut) ErrorCode() string             { return "InternalServerError" }
func (brownOut) ErrorMessage() string          { return "" }
func (brownOut) ErrorFault() smithy.ErrorFault { return smithy.FaultServer }

// unknown returns an error with an unknown outcome.
func (s *schedule) unknown() error {
	if s.IntN(2) == 0 {
		return libtest.LostAnswer{}
	}
	return brownOut{}
}

func (s *schedule) applyLate() {
	write := s.late[0]
	s.late, s.disturbed = s.late[1:], true
	_ = write() // its condition may fail
	s.totals(s.now)
}

// meanwhile makes other calls and late writes before a write or a read.
func (s *schedule) meanwhile() {
	if !s.faults {
		return
	}
	if s.depth++; s.depth < 3 && s.IntN(12) == 0 {
		s.disturbed = true
		s.call()
	}
	s.depth--
	if len(s.late) > 0 && s.IntN(8) == 0 {
		s.applyLate()
	}
}

// write makes a write with a fault, or none.
func (s *schedule) write(write func() error) error {
	s.meanwhile()
	if !s.faults {
		return write()
	}
	switch s.IntN(40) {
	case 0:
		return libtest.Hot(libtest.TableHot)
	case 1:
		s.disturbed = true
		_ = write()
		return s.unknown()
	case 2:
		s.disturbed = true
		s.late = append(s.late, write)
		return s.unknown()
	case 3:
		return libtest.CanceledFor("TransactionConflict")
	}
	return write()
}

// TestSchedules checks I20 in random schedules, each with one to ten limits: no limit is exceeded, a call counts all its hits or
// none, and enough hits reach each limit exactly.
func TestSchedules(t *testing.T) {
	seed := require.Seed(t)
	limits, calls := map[int]int{}, 0
	for i := range uint64(require.Runs(1_000, 5_000)) { // the race detector keeps 300 KB for the ended goroutines of a schedule
		synctest.Test(t, func(t *testing.T) {
			s := &schedule{T: t, store: newStore(), Rand: rand.New(rand.NewPCG(seed, i)), name: fmt.Sprintf("seed %d, schedule %d", seed, i)}
			s.around, s.read = s.write, s.meanwhile
			s.run()
			limits[len(s.limits)]++
			calls += s.calls.updates + s.calls.transactions
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("schedules by limits %v, %d writes", limits, calls)
}
