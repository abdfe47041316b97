package heat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Row is what the items of a time say about one partition key.
type Row struct {
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
	Status    Status    // the worst in any window

	// Of the hottest window too: its start and length; the mean weight of a write, 0 if
	// that is not known; the load of all write shards of the key's base key; and, if it
	// is one of several warm keys that fill a stream shard, how they do.
	Start         time.Time
	Window        time.Duration
	UnitsPerWrite float64
	Siblings      Siblings
	Crowd         Crowd
}

// Merge puts items together, which must have different keys: for each partition
// key the stream shards and parts of a window are added up, then the windows are
// compared. The rows come hottest first, by rate and then by key. The order of the
// items does not matter.
func Merge(items []Item) []Row {
	var m Merger
	m.Add(items)
	return m.Rows()
}

// Merger does what Merge does with more items than fit into memory, window by window.
// The zero Merger is ready; its Max must not be changed later.
type Merger struct {
	Max int // rows kept at least, the hottest; 0 for all. What was dropped and comes again is new

	rows map[rowID]*Row

	entries []entry // these are here to be used again
	groups  map[groupID]*group
}

// Refine takes over what the full items of a window, of which all are given, say of the
// rows whose hottest it is: their rates and errors, and how they stand to other keys then.
func Refine(rows []Row, items []Item) {
	var m Merger
	m.Add(about(rows, items))
	for i := range rows {
		row := &rows[i]
		if full := m.rows[row.id()]; full != nil && full.Start.Equal(row.Start) && full.Window == row.Window {
			row.WriteUnitsPerSecond, row.Error, row.Status = full.WriteUnitsPerSecond, full.Error, max(row.Status, full.Status)
			row.UnitsPerWrite, row.Siblings, row.Crowd = full.UnitsPerWrite, full.Siblings, full.Crowd
		}
	}
	sortRows(rows)
}

// about leaves out the keys that have nothing to do with the rows: that are neither
// write shards of the same base keys nor of a [Crowd].
func about(rows []Row, items []Item) []Item {
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

func (r *Row) id() rowID { return rowID{r.Table, r.Index, r.Key} }

// rowID names a partition key.
type rowID struct{ table, index, key string }

// Add takes all items of some windows. No later call may have an item of these.
func (m *Merger) Add(items []Item) {
	if m.rows == nil {
		m.rows, m.groups = make(map[rowID]*Row), make(map[groupID]*group)
	}
	var rests map[window]*Rests
	m.entries, rests = flatten(items, m.entries[:0])
	slices.SortFunc(m.entries, compareEntries)
	groupsOf(m.entries, m.groups)
	for i := 0; i < len(m.entries); {
		window := sameWindow(m.entries[i:])
		m.row(window[0]).add(window, window[0].rest(rests), m.groups)
		i += len(window)
	}
	if m.Max > 0 && len(m.rows) > 2*m.Max {
		for _, row := range m.Rows()[m.Max:] {
			delete(m.rows, row.id())
		}
	}
}

// row is the one of an entry's key.
func (m *Merger) row(e entry) *Row {
	id := rowID{e.item.Table, e.key.Index, e.key.Key}
	if m.rows[id] == nil {
		m.rows[id] = &Row{Table: id.table, Index: id.index, Key: id.key, WriteUnitsPerSecond: -1, FirstSeen: e.item.Start}
	}
	return m.rows[id]
}

// Rows returns the rows as Merge does.
func (m *Merger) Rows() []Row {
	var rows []Row
	for _, row := range m.rows {
		rows = append(rows, *row)
	}
	sortRows(rows)
	return rows
}

func sortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.WriteUnitsPerSecond, a.WriteUnitsPerSecond), strings.Compare(a.Key, b.Key), strings.Compare(a.Index, b.Index), strings.Compare(a.Table, b.Table))
	})
}

// entry is a key in an item.
type entry struct {
	key  *Key
	item *Item
}

func (e entry) sameKey(f entry) bool {
	return e.key.Key == f.key.Key && e.key.Index == f.key.Index && e.item.Table == f.item.Table
}

// window tells the windows of the table and those of its indexes apart: what is not
// listed is bounded for each.
type window struct {
	table   string
	start   int64 // milliseconds
	length  time.Duration
	ofIndex bool
}

func (e entry) window() window {
	return window{e.item.Table, e.item.Start.UnixMilli(), e.item.Window, e.key.Index != ""}
}

// rest is what the items of the entry's window may hide of a key that none of them lists.
func (e entry) rest(rests map[window]*Rests) uint64 {
	id := e.window()
	id.ofIndex = false
	return rests[id].Of(e.key.Index != "")
}

// flatten appends all keys of all items to entries, and puts together, for each window, of
// the table and its indexes, what an unlisted key may have got.
func flatten(items []Item, entries []entry) (all []entry, rests map[window]*Rests) {
	rests = make(map[window]*Rests)
	for i := range items {
		item := &items[i]
		id := window{table: item.Table, start: item.Start.UnixMilli(), length: item.Window}
		if rests[id] == nil {
			rests[id] = new(Rests)
		}
		rests[id].Add(item)
		for j := range item.Keys {
			entries = append(entries, entry{&item.Keys[j], item})
		}
	}
	return entries, rests
}

// compareEntries orders by key, index, table, window and second of the peak.
func compareEntries(a, b entry) int {
	return cmp.Or(
		strings.Compare(a.key.Key, b.key.Key),
		strings.Compare(a.key.Index, b.key.Index),
		strings.Compare(a.item.Table, b.item.Table),
		a.item.Start.Compare(b.item.Start),
		cmp.Compare(a.item.Window, b.item.Window),
		a.key.PeakAt.Compare(b.key.PeakAt),
	)
}

// sameWindow returns the entries at the front that have one key, index and window.
func sameWindow(entries []entry) []entry {
	for i, e := range entries {
		if !e.sameKey(entries[0]) || e.window() != entries[0].window() {
			return entries[:i]
		}
	}
	return entries
}

// add takes one window's entries into the row. Rest is what the window's items
// may hide of a key that they don't list.
func (r *Row) add(entries []entry, rest uint64, groups map[groupID]*group) {
	var units, spread, second uint64
	unlisted := rest
	for i, e := range entries {
		units += e.key.Units
		spread += e.key.Err
		unlisted -= min(unlisted, e.item.rest(e.key.Index != ""))
		if i == 0 || !e.key.PeakAt.Equal(entries[i-1].key.PeakAt) {
			second = 0
		}
		if second += e.key.Peak; second > r.Peak {
			r.Peak, r.PeakAt = second, e.key.PeakAt
		}
	}
	item := entries[0].item
	rate := float64(units) / item.Window.Seconds()
	r.Status = max(r.Status, item.status(rate))
	if rate > r.WriteUnitsPerSecond {
		r.WriteUnitsPerSecond = rate
		r.Error = float64(spread+unlisted) / item.Window.Seconds()
		r.Limit, r.Start, r.Window = item.Limit, item.Start, item.Window
		r.UnitsPerWrite = unitsPerWrite(entries)
		r.Siblings = groups[entries[0].group()].siblings(item.Window, rest)
		r.Crowd = crowdOf(entries)
	}
	if item.Start.Before(r.FirstSeen) {
		r.FirstSeen = item.Start
	}
	if end := item.End(); end.After(r.LastSeen) {
		r.LastSeen = end
	}
}
