package heat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// KeyHeat is what the items of a time say about one partition key.
type KeyHeat struct {
	Table string // whose stream it was, if not hotshard's own
	Index string // whose partition key it is; "" for the table itself
	Key   string

	// WriteUnitsPerSecond is the certified mean rate of the key's hottest window,
	// over the stream shards and parts in which it was counted. Its true rate in
	// that window is no less, and no more than Error above it.
	WriteUnitsPerSecond float64
	Error               float64
	Limit               float64 // units a second that a partition took then

	Peak      uint64    // write units in its heaviest second in any window, a lower bound
	PeakAt    time.Time // that second
	FirstSeen time.Time // start of the first window in which the key is listed
	LastSeen  time.Time // end of the last one
	Status    Status    // the worst in any window, by the certified rate alone

	Verdicts // by the Merger's AsOf; see there

	// Of the hottest window too: its start and length; the mean weight of a write, 0 if
	// that is not known; the load of all write shards of the key's base key; and, if it
	// is one of several warm keys that fill a stream shard, how they do. Folded says that
	// folded items alone tell of that window: then the weight is that of all their time,
	// and the last two are not known.
	Start         time.Time
	Window        time.Duration
	Folded        bool
	UnitsPerWrite float64
	Siblings      Siblings
	Crowd         Crowd
}

// Merge puts items together, which must have different keys: for each partition
// key the stream shards and parts of a window are added up, then the windows are
// compared. The rows come hottest first, by rate and then by key. The order of the
// items does not matter.
func Merge(items []Item) []KeyHeat {
	var m Merger
	m.Add(items)
	return m.Rows()
}

// Merger does what Merge does with more items than fit into memory, window by window.
// The zero Merger is ready; its Max and AsOf must not be changed later.
type Merger struct {
	Max int // rows kept at least, the hottest; 0 for all. What was dropped and comes again is new

	// AsOf is the end of the newest complete window. With the zero time all windows are those of now.
	AsOf time.Time

	rows map[rowID]*KeyHeat

	tallier tallier
	groups  map[groupID]*group // is here to be used again
}

// Refine takes over what the full items of a window, of which all are given, say of the
// rows whose hottest it is: their rates and errors, and how they stand to other keys then.
func Refine(rows []KeyHeat, items []Item) {
	var m Merger
	m.Add(about(rows, items))
	for i := range rows {
		row := &rows[i]
		if full := m.rows[row.id()]; full != nil && full.Start.Equal(row.Start) && full.Window == row.Window {
			row.WriteUnitsPerSecond, row.Error, row.Status = full.WriteUnitsPerSecond, full.Error, max(row.Status, full.Status)
			row.Worst = max(row.Worst, row.Status)
			row.Folded, row.UnitsPerWrite, row.Siblings, row.Crowd = full.Folded, full.UnitsPerWrite, full.Siblings, full.Crowd
		}
	}
	sortRows(rows)
}

// about leaves out the keys that have nothing to do with the rows: that are neither
// write shards of the same base keys nor of a [Crowd].
func about(rows []KeyHeat, items []Item) []Item {
	names := make(map[string]bool)
	for _, row := range rows {
		names[unsuffixed(row.Key)] = true
	}
	for i := range items {
		it := &items[i]
		least := crowdKey * it.Limit * it.Window.Seconds()
		it.Keys = slices.DeleteFunc(it.Keys, func(k Key) bool { return float64(k.Units) < least && !names[unsuffixed(k.Key)] })
	}
	return items
}

// unsuffixed is what all write shards of a key have in common.
func unsuffixed(key string) string {
	name, _, err := shard.Hash.Split(key)
	if err != nil {
		return key
	}
	return name
}

func (r *KeyHeat) id() rowID { return rowID{r.Table, r.Index, r.Key} }

// rowID names a partition key.
type rowID struct{ table, index, key string }

// Add takes all items of some windows. No later call may have an item of these.
func (m *Merger) Add(items []Item) {
	if m.rows == nil {
		m.rows, m.groups = make(map[rowID]*KeyHeat), make(map[groupID]*group)
	}
	m.tallier.take(items)
	groupsOf(m.tallier.entries, m.groups)
	for t := range m.tallier.all() {
		m.row(t.entries[0]).add(t, m.groups, m.AsOf)
	}
	if m.Max > 0 && len(m.rows) > 2*m.Max {
		for _, row := range m.Rows()[m.Max:] {
			delete(m.rows, row.id())
		}
	}
}

// row is the one of an entry's key.
func (m *Merger) row(e entry) *KeyHeat {
	id := rowID{e.item.Table, e.key.Index, e.key.Key}
	if m.rows[id] == nil {
		m.rows[id] = &KeyHeat{Table: id.table, Index: id.index, Key: id.key, WriteUnitsPerSecond: -1, FirstSeen: e.item.Start}
	}
	return m.rows[id]
}

// Rows returns the rows as Merge does.
func (m *Merger) Rows() []KeyHeat {
	var rows []KeyHeat
	for _, row := range m.rows {
		rows = append(rows, *row)
	}
	sortRows(rows)
	return rows
}

func sortRows(rows []KeyHeat) {
	slices.SortFunc(rows, func(a, b KeyHeat) int {
		return cmp.Or(cmp.Compare(b.WriteUnitsPerSecond, a.WriteUnitsPerSecond), strings.Compare(a.Key, b.Key), strings.Compare(a.Index, b.Index), strings.Compare(a.Table, b.Table))
	})
}

// add takes what one window says into the row.
func (r *KeyHeat) add(t tally, groups map[groupID]*group, asOf time.Time) {
	first := t.entries[0]
	item := first.item
	r.join(t.verdicts(asOf))
	if t.peak > r.Peak {
		r.Peak, r.PeakAt = t.peak, t.peakAt
	}
	rate, base := t.rate(), item.base()
	r.Status = max(r.Status, Verdict(rate, item.Limit, item.HotRate))
	if rate > r.WriteUnitsPerSecond {
		r.WriteUnitsPerSecond = rate
		r.Error = float64(t.topErr) / base.Seconds()
		r.Limit, r.Start, r.Window, r.Folded = item.Limit, t.topAt, base, item.Base > 0
		r.UnitsPerWrite = unitsPerWrite(t.entries)
		r.Siblings = groups[first.group()].siblings(item.Window, t.rest)
		r.Crowd = crowdOf(t.entries)
	}
	if item.Start.Before(r.FirstSeen) {
		r.FirstSeen = item.Start
	}
	if end := item.End(); end.After(r.LastSeen) {
		r.LastSeen = end
	}
}
