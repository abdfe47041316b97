package limiter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/local/partitions"
	"github.com/hotshard/hotshard/internal/topk"
)

// Stats say what was charged and refused since the limiter was made, or since
// the last [Limiter.Reset]. Units are capacity units.
type Stats struct {
	WriteUnits float64          `json:"write_units"`
	ReadUnits  float64          `json:"read_units"`
	Operations []OperationStats `json:"operations"` // by name
	Spaces     []SpaceStats     `json:"spaces"`     // tables, each before its indexes, by name
	Keys       KeyStats         `json:"keys"`
}

// OperationStats are those of one operation, such as PutItem.
type OperationStats struct {
	Operation         string  `json:"operation"`
	WriteUnits        float64 `json:"write_units"`
	ReadUnits         float64 `json:"read_units"`
	ThrottledRequests int64   `json:"throttled_requests"` // refused as a whole
	ThrottledItems    int64   `json:"throttled_items"`    // left unprocessed in batches that were not
	Conflicts         int64   `json:"conflicts"`          // items refused, being in a transaction; CloudWatch's TransactionConflict
}

// SpaceStats are those of a table, or of one of its global indexes. A local index
// counts with its table.
type SpaceStats struct {
	Table      string  `json:"table"`
	Index      string  `json:"index,omitempty"`
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
	Throttled  int64   `json:"throttled"`  // limits met here, several by one request perhaps
	Partitions int     `json:"partitions"` // now
}

// KeyStats list the heaviest partition keys of each kind, heaviest first.
type KeyStats struct {
	Writes    []KeyUnits `json:"writes"`
	Reads     []KeyUnits `json:"reads"`
	Throttled []KeyUnits `json:"throttled"` // Units are the times that the key met a limit
}

// KeyUnits are those of one partition key. Scans belong to none. Key is as
// [Limiter.Partition] takes it, Table and Index as in [SpaceStats].
type KeyUnits struct {
	Table string  `json:"table"`
	Index string  `json:"index,omitempty"`
	Key   string  `json:"key"`
	Units float64 `json:"units"`           // at least this
	Error float64 `json:"error,omitempty"` // and at most this more; 0 until thousands of keys were seen
}

// Bounds of what is counted.
const (
	maxKeys     = 20_000
	maxKeyBytes = 4 << 20
	maxSpaces   = 4 * maxTables
)

// counts are the counters behind [Stats].
type counts struct {
	operations map[string]*OperationStats
	spaces     map[spaceName]*SpaceStats
	writes     *topk.Sketch // weights in half units
	reads      *topk.Sketch
	throttled  *topk.Sketch // weights in half times
}

type spaceName struct{ table, index string }

func nameOf(s *partitions.Space) spaceName { return spaceName{s.Table, s.Index} }

func newCounts() *counts {
	limits := topk.Limits{Entries: maxKeys, Bytes: maxKeyBytes}
	return &counts{
		map[string]*OperationStats{}, map[spaceName]*SpaceStats{},
		topk.New(limits), topk.New(limits), topk.New(limits),
	}
}

// operation returns the counters of one; the handlers' names bound them.
func (c *counts) operation(name string) *OperationStats {
	o := c.operations[name]
	if o == nil {
		o = &OperationStats{Operation: name}
		c.operations[name] = o
	}
	return o
}

// space returns the counters of one; those beyond the bound share one without a
// name.
func (c *counts) space(s *partitions.Space) *SpaceStats {
	name := nameOf(s)
	if c.spaces[name] == nil && len(c.spaces) >= maxSpaces {
		name = spaceName{}
	}
	if c.spaces[name] == nil {
		c.spaces[name] = &SpaceStats{Table: name.table, Index: name.index}
	}
	return c.spaces[name]
}

func (c *counts) charged(operation string, paid partitions.Charge) {
	o, s, sketch := c.operation(operation), c.space(paid.Space), c.reads
	if paid.Write {
		sketch = c.writes
		o.WriteUnits += paid.Units.Float()
		s.WriteUnits += paid.Units.Float()
	} else {
		o.ReadUnits += paid.Units.Float()
		s.ReadUnits += paid.Units.Float()
	}
	if !paid.Everywhere {
		sketch.Add(keyOf(paid.Place), uint64(paid.Units/(partitions.Unit/2)), 0)
	}
}

// refused counts a request that was refused as a whole.
func (l *Limiter) refused(operation string, denied []partitions.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.operation(operation).ThrottledRequests++
	l.stats.denied(denied)
}

// withheld counts items of a batch that were left unprocessed.
func (l *Limiter) withheld(operation string, items int, denied []partitions.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.operation(operation).ThrottledItems += int64(items)
	l.stats.denied(denied)
}

// collided counts items that were refused because they are in a transaction.
func (l *Limiter) collided(operation string, items int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.operation(operation).Conflicts += int64(items)
}

func (c *counts) denied(denied []partitions.Denial) {
	for _, d := range denied {
		c.space(d.Space).Throttled++
		if !d.Everywhere {
			c.throttled.Add(keyOf(d.Place), 2, 0)
		}
	}
}

// keyOf tells places apart; names of tables and indexes have no control
// characters.
func keyOf(p partitions.Place) string { return p.Table + "\x00" + p.Index + "\x00" + p.Key }

// Stats returns what was counted.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	var s Stats
	for _, o := range l.stats.operations {
		s.Operations = append(s.Operations, *o)
		s.WriteUnits += o.WriteUnits
		s.ReadUnits += o.ReadUnits
	}
	slices.SortFunc(s.Operations, func(a, b OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	for name, space := range l.stats.spaces {
		one := *space
		one.Partitions = l.partitions(name)
		s.Spaces = append(s.Spaces, one)
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceStats) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Index, b.Index))
	})
	s.Keys = KeyStats{l.top(l.stats.writes), l.top(l.stats.reads), l.top(l.stats.throttled)}
	return s
}

// top lists a sketch.
func (l *Limiter) top(sketch *topk.Sketch) []KeyUnits {
	entries := sketch.Top(l.options.TopKeys)
	keys := make([]KeyUnits, len(entries))
	for i, e := range entries {
		table, rest, _ := strings.Cut(e.Key, "\x00")
		index, key, _ := strings.Cut(rest, "\x00")
		keys[i] = KeyUnits{table, index, key, float64(e.Low()) / 2, float64(e.Err) / 2}
	}
	return keys
}

// Reset sets all statistics to zero. Buckets stay as they are.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = newCounts()
}
