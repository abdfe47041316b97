package report

import (
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// Sampled makes a report from a sample of a stream.
type Sampled struct {
	settings Settings
	plan     Plan
	perCol   int // strata per column

	columns []column
	hits    []hit
	before  map[string]*Slice // the previous slice of each stream shard
	lives   lives
	burning map[[2]string]int // the last stratum in which a key of a stream shard was hot
	common  string            // the common prefix of all keys
	any     bool              // whether a key was seen
	pairs   pairs
	indexes indexRates
	vectors vectorBytes

	read Read
}

// FromSample returns a report without slices. Add each stream shard's slices in the order of their strata.
func FromSample(s Settings, p Plan) *Sampled {
	r := &Sampled{settings: s, plan: p, perCol: p.columns(maxColumns), before: map[string]*Slice{}, lives: lives{}, burning: map[[2]string]int{}, indexes: indexRates{}}
	r.columns = make([]column, (p.Strata+r.perCol-1)/r.perCol)
	return r
}

// maxColumns is the maximum number of columns of a matrix.
const maxColumns = 240

// Add adds a slice, which the report keeps.
func (r *Sampled) Add(s *Slice) {
	r.read.Records += s.Records
	r.read.Slices++
	c := &r.columns[s.Stratum/r.perCol]
	if c.cells == nil {
		c.cells = map[string]*cell{}
	}
	seconds, stratum := s.seconds(r.plan), r.plan.Stratum.Seconds()
	weight := stratum / seconds
	c.any = true
	r.lives.addSlice(s, r.plan)
	r.indexes.addSlice(s, r.plan)
	r.vectors.addSlice(s, weight)
	c.total += weight * float64(s.Units)
	for key, t := range s.Keys {
		at := c.cell(key)
		at.total += weight * float64(t.Units)
		at.writes += float64(t.Writes)
		low, _ := (noise{}).interval(float64(t.Units), seconds, float64(t.Units)/float64(t.Writes))
		if s.Whole { // all of it was read
			low = float64(t.Units) / seconds
		}
		if low > at.peak {
			at.peak, at.peakAt = low, s.begin(r.plan)
		}
	}
	if !s.Whole {
		r.addVariance(s, c, weight)
	}
	r.before[s.StreamShard] = s
	prune(c.cells, maxCells, c.compare)
	r.updateCommon(s)
	hits := r.settings.hits(s, r.plan, r.common)
	r.hits = append(append(r.hits, hits...), r.between(s, hits)...)
}

// covered returns the share of each column's time that was read, and of all time.
func (r *Sampled) covered() (columns []float64, all float64) {
	return r.lives.covered(r.plan, r.perCol)
}

// updateCommon shortens the common prefix of all keys by a slice's keys.
func (r *Sampled) updateCommon(s *Slice) {
	for key := range s.Keys {
		if !r.any {
			r.common, r.any = key, true
		}
		n := 0
		for n < min(len(key), len(r.common)) && key[n] == r.common[n] {
			n++
		}
		r.common = r.common[:n]
	}
}

// between returns cool hits for keys that were hot in one of the last slices and are not in this one. They
// count in the mean of a storm that continues.
func (r *Sampled) between(s *Slice, hits []hit) (cooler []hit) {
	hot := map[string]bool{}
	for _, h := range hits {
		hot[h.key] = true
		r.burning[[2]string{s.StreamShard, h.key}] = s.Stratum
	}
	for id, last := range r.burning {
		switch {
		case id[0] != s.StreamShard || hot[id[1]]:
		case last < s.Stratum-stormGap:
			delete(r.burning, id)
		default:
			h := s.hit(r.plan).withKey(id[1], r.settings.Index, s.Keys[id[1]])
			h.cool = true
			cooler = append(cooler, h)
		}
	}
	return cooler
}

// stormGap is the maximum number of consecutive cool strata within a storm.
const stormGap = 2

// addVariance adds the variance of a second's counts within their stratum: half the square of the
// difference from the previous second read, and at least the variance of single writes.
func (r *Sampled) addVariance(s *Slice, c *column, weight float64) {
	var before map[string]Tally
	if last := r.before[s.StreamShard]; last != nil && !last.Whole && last.Stratum == s.Stratum-1 {
		before = last.Keys
	}
	for key, t := range s.Keys {
		units := float64(t.Units)
		was, mass := 0.0, units/float64(t.Writes)
		if b, ok := before[key]; ok {
			was = float64(b.Units)
			r.pairs.addPair(units, was, mass)
		}
		c.cell(key).variance += weight * weight * max((units-was)*(units-was)/2, units*mass)
	}
	for key, b := range before {
		if _, again := s.Keys[key]; !again {
			c.cell(key).variance += weight * weight * float64(b.Units) * float64(b.Units) / 2
		}
	}
}

// Columns returns the number of columns and the length of each.
func (r *Sampled) Columns() (n int, each time.Duration) {
	return len(r.columns), time.Duration(r.perCol) * r.plan.Stratum
}

// Storms returns the storms in the slices, the heaviest first.
func (r *Sampled) Storms() []Storm {
	return r.settings.storms(slices.Concat(r.hits, r.indexes.hits(r.settings, r.plan)), stormGap*r.plan.Stratum, r.pairs.noise())
}

// items returns the columns as heat items for a [heat.Map]: a key's units are the estimate, and its
// heaviest second is the lower bound of the heaviest slice.
func (r *Sampled) items() []heat.Item {
	var items []heat.Item
	_, each := r.Columns()
	covered, _ := r.covered()
	for i := range r.columns {
		c := &r.columns[i]
		if !c.any {
			continue
		}
		start := r.plan.Begin(i * r.perCol)
		it := heat.Item{
			Table: r.settings.named(), Start: start, Window: each, Base: time.Second, Units: round(c.total), Coverage: covered[i], StreamShard: "sample",
			Limit: r.settings.Limit, HotRate: r.settings.HotRate,
		}
		for _, key := range c.heaviest()[:min(len(c.cells), heat.MaxKeys)] {
			at := c.cells[key]
			it.Keys = append(it.Keys, heat.Key{
				Index: r.settings.Index, Key: key, Units: round(at.total),
				Writes: uint64(at.writes), Peak: uint64(at.peak), PeakAt: at.peakAt, Top: uint64(at.peak), TopAt: at.peakAt,
			})
		}
		items = append(items, it)
	}
	return items
}

// errors sets the rows' errors to the upper ends of the intervals, and their rates to exact ones: heat
// items have only whole units.
func (r *Sampled) errors(rows []heat.Row) {
	covered, _ := r.covered()
	for i := range rows {
		row := &rows[i]
		first, last := row.Key, row.Key
		if row.Keys > 1 {
			first, last = row.First, row.Last
		}
		for c := range min(len(r.columns), len(row.Error)) {
			var sum cell
			for key, at := range r.columns[c].cells {
				if first <= key && key <= last {
					row.Rate = max(row.Rate, heat.Hundredths(at.peak))
					sum.total += at.total
					sum.variance += at.variance
				}
			}
			_, high := sum.interval()
			if sum.total == 0 && covered[c] < 1 { // the keys were not seen, and some of the time was not read
				_, second := noise{}.interval(0, 1, 1)
				high = second * r.plan.Stratum.Seconds()
			}
			row.Error[c] = round(high) - min(round(high), row.Units[c])
		}
	}
}

func round(x float64) uint64 { return uint64(math.Round(max(x, 0))) }
