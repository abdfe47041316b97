package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/tool/report"
)

// strata collects records of one stream shard by stratum, and delivers slices in order.
type strata struct {
	plan    report.Plan
	shard   string
	deliver func(*report.Slice) // receives nil for a skipped stratum

	sortKey string // the table's sort key; "" if there is none

	next  int       // the first stratum that was not delivered
	from  time.Time // start of the time that was read without a gap
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

// allDelivered reports whether all strata were delivered.
func (s *strata) allDelivered() bool { return s.next == s.plan.Strata }

// second returns a stratum's wanted second.
func (s *strata) second(stratum int) time.Time { return s.plan.Second(s.shard, stratum) }

// begin starts over at a time: nothing was read between the delivered strata and it.
func (s *strata) begin(at time.Time) { s.from, s.to = at, at }

// addWrite counts a write in its stratum.
func (s *strata) addWrite(w *count.Write, record *ddbstream.Record) {
	if w.At.Before(s.plan.From) || !w.At.Before(s.plan.To()) {
		return
	}
	k := s.plan.StratumAt(w.At)
	if k < s.next {
		return // a late record: its stratum was delivered
	}
	at := s.known[k]
	if at == nil {
		at = &stratum{}
		s.known[k] = at
	}
	sortKey, _ := record.Keys.Key(s.sortKey)
	fresh := record.Name == ddbstream.Insert
	at.all.addWrite(w, fresh, sortKey)
	if second := s.second(k); !w.At.Before(second) && w.At.Before(second.Add(time.Second)) {
		at.second.addWrite(w, fresh, sortKey)
	}
}

func (t *tallies) addWrite(w *count.Write, fresh bool, sortKey []byte) {
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
	t.indexes.addWrites(w.Indexes)
	t.vectors.addWrites(w.Vectors)
	if !fresh {
		return
	}
	k.Fresh++
	k.order.Add(sortKey)
}

// addWrites counts writes by index and key: units, or bytes in a vector index.
func (t indexTallies) addWrites(writes []secondary.Write) {
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

// deliverWhole delivers the strata that were read as a whole. If the start of a stratum was skipped, it
// delivers only the wanted second. A second was read once a record of a later one was seen.
func (s *strata) deliverWhole() {
	for !s.allDelivered() {
		whole := !s.from.After(s.plan.Begin(s.next))
		switch {
		case whole && !s.to.Before(s.plan.Begin(s.next+1)):
			s.deliverNext(true)
		case !whole && s.secondRead(s.next):
			s.deliverNext(false)
		default:
			return
		}
	}
}

// deliverSeconds delivers the strata whose wanted second was read, without the rest.
func (s *strata) deliverSeconds() {
	for !s.allDelivered() && s.secondRead(s.next) {
		s.deliverNext(false)
	}
}

func (s *strata) secondRead(stratum int) bool {
	second := s.second(stratum)
	return !s.from.After(second) && !s.to.Before(second.Add(time.Second))
}

// ahead returns the time from the end of what was read to the next wanted second; false if there is none.
func (s *strata) ahead() (time.Duration, bool) {
	next := s.next
	for next < s.plan.Strata && s.secondRead(next) {
		next++
	}
	if next == s.plan.Strata {
		return 0, false
	}
	return s.second(next).Sub(s.to), true
}

// deliverNext delivers the next stratum: all of it, or its wanted second.
func (s *strata) deliverNext(whole bool) {
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
	s.advance(slice)
}

// skip skips the next stratum.
func (s *strata) skip() { s.advance(nil) }

func (s *strata) advance(slice *report.Slice) {
	delete(s.known, s.next)
	s.next++
	s.deliver(slice)
}
