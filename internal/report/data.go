package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// Data is the report over the sample. Streams tells what stream shards there were, and
// calls what was called of DynamoDB.
func (r *Sampled) Data(streams Streams, calls map[string]int) Data {
	d := r.settings.data()
	_, each := r.Columns()
	d.Heat = r.settings.matrix(each, r.items())
	r.errors(d.Heat.Rows)
	d.Storms = r.Storms()
	_, r.read.Share = r.covered()
	r.read.StreamShards, r.read.Calls = len(streams.Shards), 0
	for _, n := range calls {
		r.read.Calls += n
	}
	r.read.Note = fmt.Sprintf("Of every %v of each stream shard one second was read, drawn at random (seed %d), or all where that took no more calls. A storm of a minute is met with a chance of %.0f %%; rates are estimates, with 95 %% intervals.",
		r.plan.Stratum, r.plan.Seed, 100*math.Min(1, 60/r.plan.Stratum.Seconds()))
	d.Read = r.read
	d.Splits = streams.splits(r.plan.Begin(2))
	d.Summary = r.settings.summary(d.Storms, fmt.Sprintf("%.1f %% of the stream was read, %d records of %d stream shards.", 100*d.Read.Share, d.Read.Records, d.Read.StreamShards))
	d.Todo = todo(d.Storms)
	d.Cost = cost(calls)
	return d
}

// Counted is a report in the making, over windows of which all was counted.
type Counted struct {
	settings Settings
	step     time.Duration
	heat     *heat.Map
	hits     []hit
	windows  int
	records  uint64
	doubtful int
}

// FromWindows begins a report.
func FromWindows(s Settings) *Counted {
	step := Step(s.To.Sub(s.From))
	return &Counted{settings: s, step: step, heat: s.newMap(step)}
}

// Step is the length of a column of a matrix of so long a time.
func Step(of time.Duration) time.Duration {
	for _, step := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if of <= maxColumns*step {
			return step
		}
	}
	return 10 * time.Minute
}

// Step is that of the report's columns.
func (r *Counted) Step() time.Duration { return r.step }

// Add takes the items of a window in.
func (r *Counted) Add(items []heat.Item) {
	table := r.settings.named()
	items = slices.DeleteFunc(slices.Clone(items), func(it heat.Item) bool { return it.Table != table })
	if len(items) == 0 {
		return
	}
	r.windows++
	for i := range items {
		r.records += items[i].Records
		if items[i].Incomplete {
			r.doubtful++
		}
	}
	r.heat.Add(items)
	r.hits = append(r.hits, r.settings.windowHits(items)...)
}

// Data is the report. Calls are of DynamoDB.
func (r *Counted) Data(calls map[string]int) Data {
	d := r.settings.data()
	d.Heat = heatOf(r.heat.Matrix())
	d.Storms = r.settings.storms(r.hits, max(time.Minute, r.step), noise{})
	d.Read = Read{Records: int(r.records), Slices: r.windows, Note: "The detector counts all records. Windows in which nothing was written are not reported, nor are those of a time in which it did not run. Rates are certified: lower bounds, of the hottest window."}
	for _, covered := range d.Heat.Covered {
		d.Read.Share += covered
	}
	d.Read.Share = math.Round(d.Read.Share/float64(len(d.Heat.Covered))*1e6) / 1e6
	if r.doubtful > 0 {
		d.Read.Note += fmt.Sprintf(" %d windows lack records that could not be read.", r.doubtful)
	}
	d.Summary = r.settings.summary(d.Storms, fmt.Sprintf("%d records were counted, in windows of %.0f %% of the time.", r.records, 100*d.Read.Share))
	if r.windows == 0 {
		d.Summary = []string{"Nothing is known of this time: no window was reported. Nothing was written then, or no detector ran."}
	}
	d.Todo = todo(d.Storms)
	d.Cost = Cost{Calls: calls, Note: "The detector's own cost is in hotshard plan; this report read its heat table only."}
	return d
}

func (s Settings) data() Data {
	return Data{Table: s.Table, From: stamp(s.From), To: stamp(s.To), Splits: []Split{}}
}

func (s Settings) newMap(step time.Duration) *heat.Map {
	return heat.NewMap(heat.MapOptions{From: s.From, To: s.To, Step: step, Rows: s.Rows, Index: s.Index, Table: s.named()})
}

func (s Settings) matrix(step time.Duration, items []heat.Item) Heat {
	m := s.newMap(step)
	for i := range items {
		m.Add(items[i : i+1])
	}
	return heatOf(m.Matrix())
}

func heatOf(m heat.Matrix) Heat {
	h := Heat{
		From: stamp(m.From), To: stamp(m.To), Step: short(m.Step), PartitionWCU: m.PartitionWCU, HotWCU: m.HotWCU,
		Rows: []Row{}, Rest: m.Rest, Total: m.Total, Covered: m.Covered,
	}
	for _, row := range m.Rows {
		out := Row{Key: row.Key, Keys: row.Keys, Index: row.Index, Status: row.Status.String(), Rate: hundredths(row.Rate), Units: row.Units, Error: row.Error}
		if row.Keys > 1 {
			out.First, out.Last = row.First, row.Last
		}
		h.Rows = append(h.Rows, out)
	}
	return h
}

// short is a time as callers write it: 10m, not 10m0s.
func short(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// Streams is what is known of a stream's shards.
type Streams struct{ Shards []StreamShard }

// StreamShard is one of them.
type StreamShard struct {
	ID, Parent string
	First      time.Time // about when its first record was made; zero if that is not known
}

// splits are those whose children began after a time.
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

// requestPrice is what 100,000 read requests of a stream cost in USD, in us-east-1 in 2025,
// from memory: an assumption.
const requestPrice = 0.02

func cost(calls map[string]int) Cost {
	return Cost{
		Calls: calls, USD: float64(calls["GetRecords"]) / 100_000 * requestPrice,
		Note: "GetRecords at 0.02 USD a 100,000 (us-east-1, 2025: an assumption); the other calls are free.",
	}
}

// Halve leaves out the cooler half of the rows, whose units go to the rest, and the weaker half of
// the storms: for a page that would be too large.
func (d *Data) Halve() {
	order := make([]int, len(d.Heat.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Heat.Rows[b].Rate, d.Heat.Rows[a].Rate) })
	out := order[(len(order)+1)/2:]
	var rows []Row
	for i, row := range d.Heat.Rows {
		if !slices.Contains(out, i) {
			rows = append(rows, row)
			continue
		}
		for c, units := range row.Units {
			d.Heat.Rest[c] += units
		}
	}
	d.Heat.Rows = rows
	d.Storms = d.Storms[:(len(d.Storms)+1)/2]
	d.Todo = d.Todo[:(len(d.Todo)+1)/2]
}
