package throttle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// Stats are charges and throttles. Units are capacity units.
type Stats struct {
	WriteUnits float64      `json:"write_units"`
	ReadUnits  float64      `json:"read_units"`
	Throttled  int64        `json:"throttled"` // throttled requests, and the throttled items of batches that were not throttled as a whole
	Spaces     []SpaceStats `json:"spaces"`    // tables, each before its indexes, by name
}

// SpaceStats are the statistics of a table or one of its global indexes. A local index counts with its table.
type SpaceStats struct {
	Table      string  `json:"table"`
	Index      string  `json:"index,omitempty"`
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
	Throttled  int64   `json:"throttled"`  // denials; one request may have several
	Partitions int     `json:"partitions"` // currently
}

// Bounds of the statistics.
const (
	maxKeys     = 20_000
	maxKeyBytes = 4 << 20
	maxListed   = 100 // keys of a [Report]
	maxSpaces   = 4 * maxTables
)

// counts are the counters behind [Stats].
type counts struct {
	since    time.Time
	requests int64 // Stats.Throttled
	spaces   map[spaceName]*SpaceStats
	keys     *ddbstream.Sketch // denials by throttledKey
	denials  map[denialName]*denialCounts
}

// denialCounts counts the denials of one table or index for one reason.
type denialCounts struct {
	number  int64
	seconds int64 // different seconds with a denial
	newest  int64 // the newest such second, in Unix time
	units   partitions.Units
}

type spaceName struct{ table, index string }

// denialName is a table or index, with a reason of denials.
type denialName struct {
	spaceName
	reason string
}

func nameOf(s *partitions.Space) spaceName { return spaceName{s.Table, s.Index} }

func newCounts(since time.Time) *counts {
	return &counts{
		since: since, spaces: map[spaceName]*SpaceStats{}, denials: map[denialName]*denialCounts{},
		keys: ddbstream.NewSketch(ddbstream.SketchLimits{Entries: maxKeys, Bytes: maxKeyBytes}),
	}
}

// space returns a space's counters. Spaces beyond maxSpaces share counters without a name.
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

func (c *counts) countCharge(paid partitions.Charge) {
	s := c.space(paid.Space)
	if paid.Write {
		s.WriteUnits += paid.Units.Float()
	} else {
		s.ReadUnits += paid.Units.Float()
	}
}

// countThrottled counts throttled requests or items, with all their denials.
func (l *Limiter) countThrottled(number int, denied []partitions.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.requests += int64(number)
	l.stats.countDenials(denied, l.options.Now())
}

func (c *counts) countDenials(denied []partitions.Denial, now time.Time) {
	for _, d := range denied {
		reason, s := reasonOf(d).Reason, c.space(d.Space)
		s.Throttled++
		name := denialName{spaceName{s.Table, s.Index}, reason}
		if c.denials[name] == nil {
			c.denials[name] = &denialCounts{}
		}
		c.denials[name].add(d.Units, now.Unix())
		c.keys.Add([]byte(throttledKey(d.Place, reason)), 1, 0)
	}
}

// add counts a denial, with at least half a unit, the least cost of a request.
func (d *denialCounts) add(units partitions.Units, second int64) {
	d.number++
	d.units += max(units, partitions.Unit/2)
	if second != d.newest {
		d.seconds++
		d.newest = second
	}
}

// totals returns all denials, by table, index and reason.
func (c *counts) totals() []Total {
	totals := []Total{}
	for name, n := range c.denials {
		totals = append(totals, Total{name.reason, name.table, name.index, n.number, n.units.Float(), n.seconds})
	}
	slices.SortFunc(totals, func(a, b Total) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Index, b.Index), strings.Compare(a.Reason, b.Reason))
	})
	return totals
}

// throttledKey returns a text that has the table, index, reason and key, separated by NUL.
func throttledKey(p partitions.Place, reason string) string {
	return p.Table + "\x00" + p.Index + "\x00" + reason + "\x00" + p.Key
}

// Stats returns the statistics since the limiter was made, or since the last [Limiter.Reset] or [Limiter.Restart].
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Throttled: l.stats.requests}
	for name, space := range l.stats.spaces {
		s.WriteUnits += space.WriteUnits
		s.ReadUnits += space.ReadUnits
		copied := *space
		copied.Partitions = l.partitionCount(name)
		s.Spaces = append(s.Spaces, copied)
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceStats) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Index, b.Index))
	})
	return s
}

// Reset sets all statistics to zero. Buckets keep their tokens.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = newCounts(l.options.Now())
}
