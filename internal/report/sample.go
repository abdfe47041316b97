package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// Sampled is a report in the making, over a sample of a stream.
type Sampled struct {
	settings Settings
	plan     Plan
	perCol   int // strata

	columns []column
	hits    []hit
	before  map[string]*Slice // the last one of each stream shard
	lives   map[string]*life
	burning map[[2]string]int // the stratum in which a key of a stream shard was hot last
	common  *string           // with what all keys begin
	ratios  []ratio

	read Read
}

// FromSample begins a report. Slices are to be added in the order of their strata, for each
// stream shard.
func FromSample(s Settings, p Plan) *Sampled {
	r := &Sampled{settings: s, plan: p, perCol: p.columns(maxColumns), before: map[string]*Slice{}, lives: map[string]*life{}, burning: map[[2]string]int{}}
	r.columns = make([]column, (p.Strata+r.perCol-1)/r.perCol)
	return r
}

// Bounds of a matrix.
const (
	maxColumns = 240
	maxRows    = 256
	maxCells   = 4000 // keys that are told apart in a column
)

// column is what was read of a column's time.
type column struct {
	cells map[string]*cell
	total float64 // estimate
	any   bool    // something of it was read
}

// life is what was read of a stream shard, in seconds by stratum, and in which strata its
// first and last records were.
type life struct {
	read        []float32
	first, last int
}

// cell is a key in a column.
type cell struct {
	total    float64 // estimate
	variance float64 // of the estimate
	writes   float64 // that were read
	peak     float64 // units a second in its heaviest slice, a lower bound
	peakAt   time.Time
}

// ratio is how two neighbouring seconds of a busy key differ.
type ratio struct{ square, weight float64 }

// Add takes a slice in, and keeps it.
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
	r.live(s, seconds)
	c.total += weight * float64(s.Units)
	for key, t := range s.Keys {
		at := c.cell(key)
		at.total += weight * float64(t.Units)
		at.writes += float64(t.Writes)
		if low, _ := (noise{}).interval(float64(t.Units), seconds, float64(t.Units)/float64(t.Writes)); low > at.peak {
			at.peak, at.peakAt = low, s.begin(r.plan)
		}
	}
	if !s.Whole {
		r.vary(s, c, weight)
	}
	r.before[s.StreamShard] = s
	if len(c.cells) > 2*maxCells {
		c.prune()
	}
	r.share(s)
	common := ""
	if r.common != nil {
		common = *r.common
	}
	hits := r.settings.hits(s, r.plan, common)
	r.hits = append(append(r.hits, hits...), r.between(s, hits)...)
}

func (r *Sampled) live(s *Slice, seconds float64) {
	l := r.lives[s.StreamShard]
	if l == nil {
		l = &life{read: make([]float32, r.plan.Strata), first: r.plan.Strata, last: -1}
		r.lives[s.StreamShard] = l
	}
	l.read[s.Stratum] = float32(seconds)
	if s.Records > 0 {
		l.first, l.last = min(l.first, s.Stratum), max(l.last, s.Stratum)
	}
}

// covered is which share of each column's time was read, over the stream shards that there
// were then: from their first records to their last. With none, it is the slices' share.
func (r *Sampled) covered() (columns []float64, all float64) {
	read, of := make([]float64, len(r.columns)), make([]float64, len(r.columns))
	idle, idleOf := make([]float64, len(r.columns)), make([]float64, len(r.columns))
	stratum := r.plan.Stratum.Seconds()
	for _, l := range r.lives {
		for i, seconds := range l.read {
			c := i / r.perCol
			idle[c] += float64(seconds)
			idleOf[c] += stratum
			if l.first <= i && i <= l.last {
				read[c] += float64(seconds)
				of[c] += stratum
			}
		}
	}
	columns = make([]float64, len(r.columns))
	sum, sumOf := 0.0, 0.0
	for c := range columns {
		if of[c] == 0 {
			read[c], of[c] = idle[c], idleOf[c]
		}
		if of[c] > 0 {
			columns[c] = read[c] / of[c]
		}
		sum += read[c]
		sumOf += of[c]
	}
	if sumOf > 0 {
		all = sum / sumOf
	}
	return columns, all
}

// share keeps with what all keys begin, as far as they were seen.
func (r *Sampled) share(s *Slice) {
	for key := range s.Keys {
		if r.common == nil {
			r.common = &key
		}
		n := 0
		for n < min(len(key), len(*r.common)) && key[n] == (*r.common)[n] {
			n++
		}
		begin := (*r.common)[:n]
		r.common = &begin
	}
}

// between adds what a key took in a slice that lies between two in which it was hot, or may
// yet: a storm's mean is that of all its time.
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
			t, writes := s.Keys[id[1]], 1
			if t.Writes > 0 {
				writes = t.Writes
			}
			begin, seconds := s.begin(r.plan), s.seconds(r.plan)
			cooler = append(cooler, hit{
				kind: OneKey, key: id[1], index: r.settings.Index, keys: 1, cool: true, units: float64(t.Units), seconds: seconds,
				weight: float64(t.Units) / float64(writes), from: begin, to: begin.Add(time.Duration(seconds) * time.Second), streamShard: s.StreamShard,
			})
		}
	}
	return cooler
}

// stormGap is how many strata may be cool within a storm.
const stormGap = 2

func (c *column) cell(key string) *cell {
	if c.cells[key] == nil {
		c.cells[key] = &cell{}
	}
	return c.cells[key]
}

// vary adds the variance of a second's counts about their stratum's means: half the square
// of the difference from the second that was read before, and at least what single writes
// have by themselves.
func (r *Sampled) vary(s *Slice, c *column, weight float64) {
	var before map[string]Tally
	if last := r.before[s.StreamShard]; last != nil && !last.Whole && last.Stratum == s.Stratum-1 {
		before = last.Keys
	}
	for key, t := range s.Keys {
		units := float64(t.Units)
		was, mass := 0.0, units/float64(t.Writes)
		if b, ok := before[key]; ok {
			was = float64(b.Units)
			r.compare(units, was, mass)
		}
		c.cell(key).variance += weight * weight * max((units-was)*(units-was)/2, units*mass)
	}
	for key, b := range before {
		if _, again := s.Keys[key]; !again {
			c.cell(key).variance += weight * weight * float64(b.Units) * float64(b.Units) / 2
		}
	}
}

// busy is how many units a second tell how bursty the traffic is.
const busy = 30

func (r *Sampled) compare(a, b, weight float64) {
	mean := (a + b) / 2
	if mean < busy || len(r.ratios) >= 1_000_000 {
		return
	}
	r.ratios = append(r.ratios, ratio{(a - b) * (a - b) / 2 / (mean * mean), weight / mean})
}

// What is assumed of bursts where too little was read to tell, and how much is enough.
const (
	fewPairs     = 20
	manyPairs    = 20_000
	assumedBurst = 0.01 // seconds of a key vary by 10 %
)

// noise is how bursty the table's traffic is: what makes the median of the differences
// between neighbouring slices of busy keys what it is with a normal variable's. A storm's
// begin and end are few among them.
func (r *Sampled) noise() noise {
	if len(r.ratios) < fewPairs {
		return noise{assumedBurst}
	}
	pairs := r.ratios
	if step := len(pairs) / manyPairs; step > 1 {
		pairs = nil
		for i := 0; i < len(r.ratios); i += step {
			pairs = append(pairs, r.ratios[i])
		}
	}
	const chiMedian = 0.4549 // of the square of a normal variable
	low, high := 0.0, 4.0
	for range 30 {
		burst := (low + high) / 2
		scaled := make([]float64, len(pairs))
		for i, x := range pairs {
			scaled[i] = x.square / (x.weight + burst)
		}
		slices.Sort(scaled)
		if scaled[len(scaled)/2] > chiMedian {
			low = burst
		} else {
			high = burst
		}
	}
	return noise{high}
}

// prune drops the keys of a column that weigh least: they are in its rest.
func (c *column) prune() {
	keys := c.heaviest()
	for _, key := range keys[maxCells:] {
		delete(c.cells, key)
	}
}

func (c *column) heaviest() []string {
	keys := make([]string, 0, len(c.cells))
	for key := range c.cells {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.cells[b].total, c.cells[a].total), strings.Compare(a, b))
	})
	return keys
}

// interval is where the key's units of the whole column are with 95 % certainty.
func (c *cell) interval() (low, high float64) {
	if c.variance <= 0 || c.total <= 0 {
		return c.total, c.total
	}
	k := c.total * c.total / c.variance
	return c.total * gammaQuantile(k, -z) / k, c.total * gammaQuantile(k+1, z) / k
}

// Interval is where a key's units of a column's time are with 95 % certainty; ok is false
// for a key that was not seen in it.
func (r *Sampled) Interval(key string, column int) (low, high float64, ok bool) {
	c := r.columns[column].cells[key]
	if c == nil {
		return 0, 0, false
	}
	low, high = c.interval()
	return low, high, true
}

// Columns is how many there are, each of so long.
func (r *Sampled) Columns() (n int, each time.Duration) {
	return len(r.columns), time.Duration(r.perCol) * r.plan.Stratum
}

// Storms are those that the slices show, the heaviest first.
func (r *Sampled) Storms() []Storm {
	return r.settings.storms(r.hits, stormGap*r.plan.Stratum, r.noise())
}

// items are the columns as heat items, of which a [heat.Map] makes the matrix: a key's units
// are the estimate, and its heaviest second what is certain of the heaviest slice.
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
			Start: start, Window: each, Base: time.Second, Units: round(c.total), Coverage: covered[i], StreamShard: "sample",
			Limit: r.settings.Limit, HotRate: r.settings.HotRate,
		}
		if r.settings.Foreign {
			it.Table = r.settings.Table
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

// errors sets the errors of a matrix's rows: they reach to the upper ends of the intervals.
func (r *Sampled) errors(rows []Row) {
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
					sum.total += at.total
					sum.variance += at.variance
				}
			}
			_, high := sum.interval()
			if sum.total == 0 && covered[c] < 1 { // it was not seen, and most was not read
				_, second := noise{}.interval(0, 1, 1)
				high = second * r.plan.Stratum.Seconds()
			}
			row.Error[c] = round(high) - min(round(high), row.Units[c])
		}
	}
}

func round(x float64) uint64 { return uint64(math.Round(max(x, 0))) }
