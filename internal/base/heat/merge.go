package heat

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// KeyHeat is the heat of one partition key over the windows of a time range.
type KeyHeat struct {
	Table string // the table of the stream, if it is not hotshard's own
	Index string // the index of the partition key; "" for the table itself
	Key   string

	// WriteUnitsPerSecond is the certified mean rate of the key's hottest window, over all stream shards and parts that
	// counted the key. The true rate in this window is at most Error higher.
	WriteUnitsPerSecond float64
	Error               float64
	Limit               float64 // WCU/s that a partition took then

	Peak      uint64    // write units in its heaviest second in any window, a lower bound
	PeakAt    time.Time // that second
	FirstSeen time.Time // start of the first window in which the key is listed
	LastSeen  time.Time // end of the last one
	Status    Status    // the worst in any window, by the certified rate alone

	Verdicts // Now and Current depend on Merger.AsOf

	// The fields below describe the hottest window.
	Start         time.Time
	Window        time.Duration // length
	UnitsPerWrite float64       // mean weight of a write, in a folded item over all its windows; 0 if unknown
	Siblings      Siblings      // the load of the base key's write shards; zero from a folded item with several windows
}

// Merge returns a row for each partition key of the items, hottest first, by rate and then by key. It sums the stream
// shards and parts of each window and then compares the windows. The items must have different keys; their order does
// not matter.
func Merge(items []Item) []KeyHeat {
	var m Merger
	m.Add(items)
	return m.Rows()
}

// Merger merges items window by window, as [Merge] does, so that they need not fit into memory. The zero value is ready
// to use. Max and AsOf must not change later.
type Merger struct {
	Max int // least number of hottest rows to keep; 0 keeps all. A dropped key that is added again is new

	// AsOf is the end of the newest complete window. If it is zero, all windows affect Now, and Current is 0.
	AsOf time.Time

	rows map[rowID]*KeyHeat

	tallier tallier
	groups  map[groupID]*group // reused
}

func (r *KeyHeat) id() rowID { return rowID{r.Table, r.Index, r.Key} }

// rowID identifies a partition key.
type rowID struct{ table, index, key string }

// Add adds all items of some windows. No later call may have an item of these windows.
func (m *Merger) Add(items []Item) {
	if m.rows == nil {
		m.rows, m.groups = make(map[rowID]*KeyHeat), make(map[groupID]*group)
	}
	m.tallier.reset(items)
	sumGroups(m.tallier.entries, m.groups)
	for t := range m.tallier.tallies() {
		m.rowOf(t.entries[0]).addTally(t, m.groups, m.AsOf)
	}
	if m.Max > 0 && len(m.rows) > 2*m.Max {
		for _, row := range m.Rows()[m.Max:] {
			delete(m.rows, row.id())
		}
	}
}

// rowOf returns the row of an entry's key. It creates the row if needed, with a rate below that of any window.
func (m *Merger) rowOf(e entry) *KeyHeat {
	id := rowID{e.item.Table, e.key.Index, e.key.Key}
	if m.rows[id] == nil {
		m.rows[id] = &KeyHeat{Table: id.table, Index: id.index, Key: id.key, WriteUnitsPerSecond: -1, FirstSeen: e.item.Start}
	}
	return m.rows[id]
}

// Rows returns the rows so far, as [Merge] does.
func (m *Merger) Rows() []KeyHeat {
	var rows []KeyHeat
	for _, row := range m.rows {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b KeyHeat) int {
		return cmp.Or(cmp.Compare(b.WriteUnitsPerSecond, a.WriteUnitsPerSecond), strings.Compare(a.Key, b.Key), strings.Compare(a.Index, b.Index), strings.Compare(a.Table, b.Table))
	})
	return rows
}

// addTally adds one window's counts of the row's key.
func (r *KeyHeat) addTally(t tally, groups map[groupID]*group, asOf time.Time) {
	first := t.entries[0]
	item := first.item
	r.join(t.verdicts(asOf))
	if t.peak > r.Peak {
		r.Peak, r.PeakAt = t.peak, t.peakAt
	}
	rate, base := t.rate(), item.baseLength()
	r.Status = max(r.Status, Verdict(rate, item.Limit, item.HotRate))
	if rate > r.WriteUnitsPerSecond {
		r.WriteUnitsPerSecond = rate
		r.Error = float64(t.topErr) / base.Seconds()
		r.Limit, r.Start, r.Window = item.Limit, t.topAt, base
		r.UnitsPerWrite = unitsPerWrite(t.entries)
		r.Siblings = groups[first.groupID()].siblings(item.Window, t.rest)
	}
	if item.Start.Before(r.FirstSeen) {
		r.FirstSeen = item.Start
	}
	if end := item.End(); end.After(r.LastSeen) {
		r.LastSeen = end
	}
}
