package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/tool/report"
)

// strata collects records of one stream shard by stratum, and hands on slices in order.
type strata struct {
	plan  report.Plan
	shard string
	hand  func(*report.Slice) // receives nil for a skipped stratum

	sortKey string // the table's sort key; "" if there is none

	next  int       // the first stratum that was not handed on
	from  time.Time // begin of the time known without a gap
	to    time.Time // end of that time
	known map[int]*stratum
}

// stratum has the counts of a stratum: of all its time, and of its wanted second.
type stratum struct{ all, second tallies }

// tallies are counts by partition key.
type tallies struct {
	records int
	units   uint64
	keys    map[string]*tally
	indexes indexTallies
	vectors indexTallies // in bytes
}

type indexTallies map[report.IndexKey]report.Tally

type tally struct {
	report.Tally
	order report.Order // of the sort keys of new items
}

// done reports whether all strata were handed on.
func (s *strata) done() bool { return s.next == s.plan.Strata }

// second returns a stratum's wanted second.
func (s *strata) second(stratum int) time.Time { return s.plan.Second(s.shard, stratum) }

// begin begins a new known time: between the slices handed on and at, nothing is known.
func (s *strata) begin(at time.Time) { s.from, s.to = at, at }

// add counts a write in its stratum.
func (s *strata) add(w *count.Write, record *ddbstream.Record) {
	if w.At.Before(s.plan.From) || !w.At.Before(s.plan.To()) {
		return
	}
	k := s.plan.Of(w.At)
	if k < s.next {
		return // a late record: its stratum was handed on
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
		t.keys, t.indexes, t.vectors = make(map[string]*tally), indexTallies{}, indexTallies{}
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
	t.indexes.add(w.Indexes)
	t.vectors.add(w.Vectors)
	if !fresh {
		return
	}
	k.Fresh++
	k.order.Add(sortKey)
}

// add counts writes by index and key: units, or bytes in a vector index.
func (t indexTallies) add(writes []secondary.Write) {
	for _, x := range writes {
		if x.Index != "" {
			id := report.IndexKey{Index: x.Index, Key: string(x.Key)}
			of := t[id]
			of.Units += uint64(x.Units + x.Bytes)
			of.Writes++
			t[id] = of
		}
	}
}

// handOn hands on the strata that are final: those known as a whole, and those whose begin was
// skipped, by their second. A record's time is to the second, so a second is known once a later
// one was seen.
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

// giveUp hands on, by their second, the strata that are not final.
func (s *strata) giveUp() {
	for !s.done() && s.secondKnown(s.next) {
		s.give(false)
	}
}

func (s *strata) secondKnown(stratum int) bool {
	second := s.second(stratum)
	return !s.from.After(second) && !s.to.Before(second.Add(time.Second))
}

// ahead returns the time from what is known to the next wanted second; false if there is none.
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
	slice := &report.Slice{StreamShard: s.shard, Stratum: s.next, Whole: whole, Records: t.records, Units: t.units, Keys: make(map[string]report.Tally, len(t.keys)), Indexes: t.indexes, Vectors: t.vectors}
	for key, tally := range t.keys {
		tally.Tau = tally.order.Tau()
		slice.Keys[key] = tally.Tally
	}
	s.pass(slice)
}

// skip skips the next stratum.
func (s *strata) skip() { s.pass(nil) }

func (s *strata) pass(slice *report.Slice) {
	delete(s.known, s.next)
	s.next++
	s.hand(slice)
}
