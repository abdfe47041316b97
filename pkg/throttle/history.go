package throttle

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// ThrottledWrites counts the throttled writes of one table in one second. Each item of a batch or a transaction is a
// write.
type ThrottledWrites struct {
	Start  time.Time
	Writes int64          // of all keys
	Keys   []ThrottledKey // most throttled first; their number is bounded, so their sum may be less than Writes
}

// ThrottledKey counts the throttled writes of one partition key. A write that several limits throttled counts once, for
// the table's limit or else for the first index's.
type ThrottledKey struct {
	Index  string // "" for the table
	Key    string // as [Limiter.Partition] takes it
	Writes int64
}

// Bounds of the history, and of each second's slot.
const (
	maxSeconds    = 3600
	maxSlotTables = 64
	maxSlotKeys   = 256
	maxSlotBytes  = 16 << 10
)

// history counts the throttled writes of each second of the last hour.
type history struct {
	since time.Time
	slots []slot // the slot of a second has the index second % maxSeconds
}

// slot counts the throttled writes of one second.
type slot struct {
	second int64 // in Unix time
	tables map[string]int64
	keys   map[keyName]int64
	bytes  int // total length of the keys' texts
}

type keyName struct{ table, index, key string }

func newHistory(since time.Time) *history { return &history{since, make([]slot, maxSeconds)} }

// countWrite counts one throttled write by its first denial. It counts nothing if a later second has the slot, since
// the clock has gone back by an hour or more.
func (h *history) countWrite(now int64, first partitions.Denial) {
	s := &h.slots[now%maxSeconds]
	if s.second > now {
		return
	}
	if s.second < now {
		*s = slot{second: now, tables: map[string]int64{}, keys: map[keyName]int64{}}
	}
	s.add(keyName{first.Table, first.Index, first.Key})
}

// add counts a write to a table and its key. It ignores further tables and keys once the slot is full.
func (s *slot) add(name keyName) {
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

// firstSecond returns the first second with counts: the one in which counting began, or the oldest that is kept.
func (h *history) firstSecond(now int64) int64 { return max(h.since.Unix(), now-maxSeconds+1) }

// writes returns a table's seconds with throttled writes, oldest first, from one second up to another (excluded).
func (h *history) writes(table string, from, to time.Time, now int64) []ThrottledWrites {
	var list []ThrottledWrites
	for second := max(from.Unix(), h.firstSecond(now)); second < min(to.Unix(), now+1); second++ {
		if s := &h.slots[second%maxSeconds]; s.second == second && s.tables[table] > 0 {
			list = append(list, s.writes(table))
		}
	}
	return list
}

func (s *slot) writes(table string) ThrottledWrites {
	out := ThrottledWrites{Start: time.Unix(s.second, 0).UTC(), Writes: s.tables[table]}
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

// countThrottledWrites adds writes, each given by its denials, to the history. It ignores admitted writes, and reads.
func (l *Limiter) countThrottledWrites(writes ...[]partitions.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now().Unix()
	for _, denied := range writes {
		if len(denied) > 0 && denied[0].Write {
			l.history.countWrite(now, denied[0])
		}
	}
}

// ThrottledWrites returns the seconds in which writes to a table were throttled, oldest first, from the second of from
// to the one before that of to. The table is given by its name or ARN. The limiter keeps the last hour.
func (l *Limiter) ThrottledWrites(table string, from, to time.Time) []ThrottledWrites {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.writes(tableName(table), from, to, l.options.Now().Unix())
}

// Since returns the time from which throttled writes are known: the limiter's start, or an hour ago if that is later.
func (l *Limiter) Since() time.Time {
	known := time.Unix(l.history.firstSecond(l.options.Now().Unix()), 0)
	if known.Before(l.history.since) {
		known = l.history.since // in the middle of the first second
	}
	return known.UTC()
}
