package throttle

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// ThrottledWrites counts the throttled writes of one table in one slot of time. Each item of a
// batch or a transaction is a write.
type ThrottledWrites struct {
	Start  time.Time
	Length time.Duration
	Writes int64          // of all keys
	Keys   []ThrottledKey // most throttled first; bounded, so they may add up to less
}

// ThrottledKey counts the throttled writes of one partition key. A write counts once, for the
// first limit that throttled it: the table's comes before an index's.
type ThrottledKey struct {
	Index  string // "" for the table
	Key    string // as [Limiter.Partition] takes it
	Writes int64
}

// Bounds of one slot.
const (
	maxSlotTables = 64
	maxSlotKeys   = 256
	maxSlotBytes  = 16 << 10
)

// history counts throttled writes by the second for 15 minutes, by 10 s for an hour, and by the
// minute for a day.
type history struct {
	since time.Time
	rings [3]ring // finest first
}

func newHistory(since time.Time) *history {
	return &history{since: since, rings: [3]ring{newRing(1, 15*60), newRing(10, 60*6), newRing(60, 24*60)}}
}

// ring holds the newest slots, all of the same length.
type ring struct {
	length int64 // seconds
	slots  []slot
}

// slot covers length seconds from number*length on, in Unix time.
type slot struct {
	number int64
	tables map[string]int64
	keys   map[keyName]int64
	bytes  int // of the keys' texts
}

type keyName struct{ table, index, key string }

func newRing(length int64, slots int) ring { return ring{length, make([]slot, slots)} }

// add counts a write. If the clock has gone back beyond the ring, nothing is counted.
func (r *ring) add(now int64, name keyName) {
	number := now / r.length
	s := &r.slots[number%int64(len(r.slots))]
	if s.number > number {
		return
	}
	if s.number < number {
		*s = slot{number: number, tables: map[string]int64{}, keys: map[keyName]int64{}}
	}
	if _, known := s.tables[name.table]; !known && len(s.tables) == maxSlotTables {
		return
	}
	s.tables[name.table]++
	if _, known := s.keys[name]; !known {
		if len(s.keys) == maxSlotKeys || s.bytes+len(name.key) > maxSlotBytes {
			return
		}
		s.bytes += len(name.key)
	}
	s.keys[name]++
}

// oldest returns the first second from which the ring has all slots. It is rounded up to a
// minute, at which slots of all rings begin.
func (r *ring) oldest(now int64) int64 {
	const minute = 60
	first := (now/r.length - int64(len(r.slots)) + 1) * r.length
	return (first + minute - 1) / minute * minute
}

// throttled counts one throttled write by its first denial.
func (h *history) throttled(now int64, first partitions.Denial) {
	name := keyName{first.Table, first.Index, first.Key}
	for i := range h.rings {
		h.rings[i].add(now, name)
	}
}

// slots returns a table's slots that begin between two times, oldest first, each in the finest
// length that is kept.
func (h *history) slots(table string, from, to time.Time, now int64) []ThrottledWrites {
	var list []ThrottledWrites
	end := to.Unix()
	for i := range h.rings {
		r := &h.rings[i]
		begin := max(from.Unix(), r.oldest(now))
		for j := range r.slots {
			s := &r.slots[j]
			if at := s.number * r.length; at >= begin && at < end && s.tables[table] > 0 {
				list = append(list, s.writes(table, r.length))
			}
		}
		end = min(end, begin)
	}
	slices.SortFunc(list, func(a, b ThrottledWrites) int { return a.Start.Compare(b.Start) })
	return list
}

func (s *slot) writes(table string, length int64) ThrottledWrites {
	out := ThrottledWrites{
		Start: time.Unix(s.number*length, 0).UTC(), Length: time.Duration(length) * time.Second, Writes: s.tables[table],
	}
	for name, writes := range s.keys {
		if name.table == table {
			out.Keys = append(out.Keys, ThrottledKey{name.index, name.key, writes})
		}
	}
	slices.SortFunc(out.Keys, func(a, b ThrottledKey) int {
		return cmp.Or(cmp.Compare(b.Writes, a.Writes), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// throttledWrites counts throttled writes, each given by its denials. Reads and writes without
// denials are ignored.
func (l *Limiter) throttledWrites(writes ...[]partitions.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now().Unix()
	for _, denied := range writes {
		if len(denied) > 0 && denied[0].Write {
			l.history.throttled(now, denied[0])
		}
	}
}

// ThrottledWrites returns the throttled writes of a table, given by its name or ARN, between two times, oldest slot first
// and without empty slots. A slot is a second in the last 15 minutes, 10 s in the last hour,
// and a minute in the last day. Older ones are dropped.
func (l *Limiter) ThrottledWrites(table string, from, to time.Time) []ThrottledWrites {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.slots(tableName(table), from, to, l.options.Now().Unix())
}

// Since returns the time from which throttled writes are known: the limiter's start, or about a
// day ago if that is later.
func (l *Limiter) Since() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	minutes := &l.history.rings[2]
	kept := time.Unix(minutes.oldest(l.options.Now().Unix()), 0).UTC()
	if kept.After(l.history.since) {
		return kept
	}
	return l.history.since
}

// Split is the split of a partition of a table or global index in two.
type Split struct {
	Table, Index string
	Time         time.Time
	Partitions   int // of the table or index after the split
}

// Splits returns the newest splits of a table's and its indexes' partitions, oldest first. The table is given by its name
// or ARN. The limiter keeps 1,000 splits of all tables.
func (l *Limiter) Splits(table string) (splits []Split) {
	for _, s := range l.gate.Splits() {
		if s.Table == tableName(table) {
			splits = append(splits, Split{s.Table, s.Index, s.Time, s.Partitions})
		}
	}
	return splits
}
