package live

import (
	"bytes"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/report"
)

// strata are those of one stream shard. They gather records, and hand on slices in order.
type strata struct {
	plan  report.Plan
	shard string
	hand  func(*report.Slice) // nil for one that is left out

	sortKey string // the table's; "" for none

	next  int       // the first that was not handed on
	from  time.Time // since when all is known without a gap
	to    time.Time // until when
	known map[int]*stratum
}

// stratum is what is known of one: of all of it, and of the second that is wanted.
type stratum struct{ all, second tallies }

// tallies are what partition keys got.
type tallies struct {
	records int
	units   uint64
	keys    map[string]*tally
}

type tally struct {
	report.Tally
	last []byte // sort key of the newest item
}

// done tells whether all were handed on.
func (s *strata) done() bool { return s.next == s.plan.Strata }

// second is the one that is wanted of a stratum.
func (s *strata) second(stratum int) time.Time { return s.plan.Second(s.shard, stratum) }

// begin says that all is known from a time on, and nothing before it but what was handed on.
func (s *strata) begin(at time.Time) { s.from, s.to = at, at }

// add files a write under its stratum.
func (s *strata) add(w *count.Write, record *ddbstream.Record) {
	if w.At.Before(s.plan.From) || !w.At.Before(s.plan.To()) {
		return
	}
	k := s.plan.Of(w.At)
	if k < s.next {
		return // late: its stratum was handed on
	}
	at := s.known[k]
	if at == nil {
		at = &stratum{}
		s.known[k] = at
	}
	sortKey, _ := record.Keys.Key(s.sortKey)
	fresh := record.Name == ddbstream.Insert
	at.all.add(w, fresh, sortKey)
	if second := s.second(k); !w.At.Before(second) && w.At.Before(second.Add(time.Second)) {
		at.second.add(w, fresh, sortKey)
	}
}

func (t *tallies) add(w *count.Write, fresh bool, sortKey []byte) {
	if t.keys == nil {
		t.keys = make(map[string]*tally)
	}
	k := t.keys[string(w.Key)]
	if k == nil {
		k = &tally{}
		t.keys[string(w.Key)] = k
	}
	t.records++
	t.units += uint64(w.Units)
	k.Units += uint64(w.Units)
	k.Writes++
	if !fresh {
		return
	}
	if k.Fresh > 0 && bytes.Compare(sortKey, k.last) > 0 {
		k.Rising++
	}
	k.Fresh++
	k.last = append(k.last[:0], sortKey...)
}

// handOn hands on the strata of which no more will be known: those that are known whole, and
// those of which the begin was skipped, by their second. A record's time is to the second, so
// all of a second is known when a later one was seen.
func (s *strata) handOn() {
	for !s.done() {
		whole := !s.from.After(s.plan.Begin(s.next))
		switch {
		case whole && !s.to.Before(s.plan.Begin(s.next+1)):
			s.give(true)
		case !whole && s.secondKnown(s.next):
			s.give(false)
		default:
			return
		}
	}
}

// giveUp hands on the strata by their second of which more could be known.
func (s *strata) giveUp() {
	for !s.done() && s.secondKnown(s.next) {
		s.give(false)
	}
}

func (s *strata) secondKnown(stratum int) bool {
	second := s.second(stratum)
	return !s.from.After(second) && !s.to.Before(second.Add(time.Second))
}

// ahead is how far the next second that is wanted lies behind what is known; false if no more
// is wanted.
func (s *strata) ahead() (time.Duration, bool) {
	next := s.next
	for next < s.plan.Strata && s.secondKnown(next) {
		next++
	}
	if next == s.plan.Strata {
		return 0, false
	}
	return s.second(next).Sub(s.to), true
}

// give hands on the next stratum.
func (s *strata) give(whole bool) {
	at := s.known[s.next]
	if at == nil {
		at = &stratum{}
	}
	t := &at.second
	if whole {
		t = &at.all
	}
	slice := &report.Slice{StreamShard: s.shard, Stratum: s.next, Whole: whole, Records: t.records, Units: t.units, Keys: make(map[string]report.Tally, len(t.keys))}
	for key, tally := range t.keys {
		slice.Keys[key] = tally.Tally
	}
	s.pass(slice)
}

// skip leaves the next stratum out.
func (s *strata) skip() { s.pass(nil) }

func (s *strata) pass(slice *report.Slice) {
	delete(s.known, s.next)
	s.next++
	s.hand(slice)
}
