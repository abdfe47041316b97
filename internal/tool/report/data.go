package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// Data returns the report. streams has the stream's shards; calls has the numbers of DynamoDB calls by
// operation.
func (r *Sampled) Data(streams Streams, calls map[string]int) Data {
	d := r.settings.data()
	_, each := r.Columns()
	m := r.settings.newMap(each)
	for _, it := range r.items() {
		m.Add([]heat.Item{it})
	}
	d.Heat = matrixOf(m)
	r.errors(d.Heat.Rows)
	d.Storms = r.Storms()
	_, r.read.Share = r.covered()
	r.read.StreamShards, r.read.Calls = len(streams.Shards), 0
	for _, n := range calls {
		r.read.Calls += n
	}
	if r.read.Note = "Every record was read."; r.read.Share < allRead {
		r.read.Note = fmt.Sprintf("A sample: one second of every %v of each stream shard, chosen at random (seed %d), or all of it where that took no more calls. A storm of a minute is seen with a probability of %.0f%%; rates are estimates with 95%% intervals.",
			r.plan.Stratum, r.plan.Seed, math.Floor(100*math.Min(1, 60/r.plan.Stratum.Seconds())))
	}
	d.Read = r.read
	d.Splits = streams.splits(r.plan.Begin(2))
	d.Vectors = r.vectors.rates(r.settings.To.Sub(r.settings.From))
	d.Summary = append(append(r.settings.summary(d.Storms, r.settings.scanned(d.Read)), r.settings.laterStart()...), sentences(d.Vectors)...)
	foldCold(&d.Heat, r.settings.Limit)
	d.Todo = todo(d.Storms)
	d.Cost = cost(calls)
	return d
}

// Counted makes a report from windows in which every record was counted.
type Counted struct {
	settings Settings
	step     time.Duration
	heat     *heat.Map
	hits     []hit
	windows  int
	records  uint64
	doubtful int
}

// FromWindows returns a report without windows.
func FromWindows(s Settings) *Counted {
	step := Step(s.To.Sub(s.From))
	return &Counted{settings: s, step: step, heat: s.newMap(step)}
}

// Step returns the length of a matrix column for a report over this time.
func Step(of time.Duration) time.Duration {
	for _, step := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if of <= maxColumns*step {
			return step
		}
	}
	return 10 * time.Minute
}

// Step returns the length of the report's columns.
func (r *Counted) Step() time.Duration { return r.step }

// Add adds a window.
func (r *Counted) Add(w heat.Window) {
	r.heat.AddUnread(w)
	doubtful := len(w.Unreadable) > 0
	table := r.settings.named()
	items := slices.DeleteFunc(slices.Clone(w.Items), func(it heat.Item) bool { return it.Table != table })
	doubtful = doubtful || slices.ContainsFunc(items, func(it heat.Item) bool { return it.Incomplete })
	if doubtful {
		r.doubtful++
	}
	if len(items) == 0 {
		return
	}
	r.windows++
	r.settings.Limit, r.settings.HotRate = items[0].Limit, items[0].HotRate // the deployment's settings
	for i := range items {
		r.records += items[i].Records
	}
	r.heat.Add(items)
	r.hits = append(r.hits, r.settings.windowHits(items)...)
}

// Data returns the report. calls has the numbers of DynamoDB calls by operation.
func (r *Counted) Data(calls map[string]int) Data {
	d := r.settings.data()
	d.Heat = matrixOf(r.heat)
	d.Storms = r.settings.storms(r.hits, max(time.Minute, r.step), noise{})
	d.Read = Read{Records: int(r.records), Slices: r.windows, Note: "The detector counted every record. Rates are lower bounds, of the hottest window."}
	for _, n := range calls {
		d.Read.Calls += n
	}
	for _, covered := range d.Heat.Covered {
		d.Read.Share += covered
	}
	d.Read.Share = math.Round(d.Read.Share/float64(len(d.Heat.Covered))*1e6) / 1e6
	if r.doubtful > 0 {
		d.Read.Note += fmt.Sprintf(" %s may lack records.", counted(r.doubtful, "window"))
	}
	d.Summary = append(r.settings.summary(d.Storms, fmt.Sprintf("%s counted, with data for %s of the time.", counted(int(r.records), "record"), sharePercent(d.Read.Share))), r.settings.laterStart()...)
	switch {
	case r.windows == 0 && r.doubtful > 0:
		d.Summary = []string{fmt.Sprintf("No data: another release of hotshard stored the counts of %s. Use its command line.", counted(r.doubtful, "window"))}
	case r.windows == 0:
		d.Summary = []string{"No data: nothing was written in this time, or no detector ran."}
	}
	foldCold(&d.Heat, r.settings.Limit)
	d.Todo = todo(d.Storms)
	d.Cost = Cost{Calls: calls, Note: "This report read the heat table only; hotshard plan shows what the detector costs."}
	return d
}

// laterStart returns a sentence if the report begins later than requested because there is no older data.
// A sample of whole strata may also begin later, although older data exists.
func (s Settings) laterStart() []string {
	if !s.Oldest || s.Wanted <= s.To.Sub(s.From)+time.Minute {
		return nil
	}
	return []string{fmt.Sprintf("The oldest data is from %s UTC; the map begins there.", s.From.UTC().Format(time.DateTime))}
}

const (
	rowShare  = 0.01 // a key has a row of its own if its hottest window took this share of the partition limit
	leastRows = 20   // the hottest keys have a row in any case
)

// foldCold adds the rows of other keys to the rest.
func foldCold(h *heat.Matrix, limit float64) {
	hotter := slices.SortedFunc(slices.Values(h.Rows), func(a, b heat.Row) int { return cmp.Compare(b.Rate, a.Rate) })
	least := rowShare * limit
	if n := min(leastRows, len(hotter)); n > 0 {
		least = min(least, hotter[n-1].Rate)
	}
	n := 0
	for n < len(hotter) && hotter[n].Rate > 0 && hotter[n].Rate >= least {
		n++
	}
	keepHottest(h, n)
}

// keepHottest keeps the n rows with the highest rates, and adds the others to the rest.
func keepHottest(h *heat.Matrix, n int) {
	order := make([]int, len(h.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.Rows[b].Rate, h.Rows[a].Rate) })
	kept := []heat.Row{}
	for i, row := range h.Rows {
		if slices.Contains(order[:n], i) {
			kept = append(kept, row)
			continue
		}
		for c, units := range row.Units {
			h.Rest[c] += units
		}
	}
	h.Rows = kept
}

func (s Settings) data() Data {
	return Data{Table: s.Table, From: stamp(s.From), To: stamp(s.To), Splits: []Split{}}
}

func (s Settings) newMap(step time.Duration) *heat.Map {
	return heat.NewMap(heat.MapOptions{From: s.From, To: s.To, Step: step, Rows: s.Rows, Index: s.Index, Table: s.named()})
}

// matrixOf returns a map's matrix without the heaviest windows, which would double the size of the
// page.
func matrixOf(m *heat.Map) heat.Matrix {
	out := m.Matrix()
	for i := range out.Rows {
		out.Rows[i].Heaviest = nil
	}
	return out
}

// Streams has the shards of a stream.
type Streams struct{ Shards []StreamShard }

// StreamShard is one stream shard.
type StreamShard struct {
	ID, Parent string
	First      time.Time // approximate time of its first record; zero if unknown
}

// splits returns the splits whose first child began after a time.
func (s Streams) splits(after time.Time) []Split {
	splits := []Split{}
	children := map[string][]StreamShard{}
	for _, shard := range s.Shards {
		if shard.Parent != "" {
			children[shard.Parent] = append(children[shard.Parent], shard)
		}
	}
	for _, shard := range s.Shards {
		list := children[shard.ID]
		if len(list) < 2 {
			continue
		}
		split := Split{Parent: shard.ID, Children: len(list)}
		first := time.Time{}
		for _, child := range list {
			if !child.First.IsZero() && (first.IsZero() || child.First.Before(first)) {
				first = child.First
			}
		}
		if first.After(after) {
			split.Time = stamp(first)
			splits = append(splits, split)
		}
	}
	return splits
}

// requestPrice is the price of 100,000 stream read requests in USD, in us-east-1 in 2025. It is an
// assumption from memory.
const requestPrice = 0.02

func cost(calls map[string]int) Cost {
	return Cost{
		Calls: calls, USD: float64(calls["GetRecords"]) / 100_000 * requestPrice,
		Note: "GetRecords at $0.02 per 100,000 calls (assumed price: us-east-1, 2025); the other calls are free.",
	}
}

// Halve moves the cooler half of the rows into the rest, and drops the weaker half of the storms, to
// reduce the size of a page.
func (d *Data) Halve() {
	keepHottest(&d.Heat, (len(d.Heat.Rows)+1)/2)
	d.Storms = d.Storms[:(len(d.Storms)+1)/2]
	d.Todo = d.Todo[:(len(d.Todo)+1)/2]
}
