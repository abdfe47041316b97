package console

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
)

// The story is a table whose writes depend only on the time, so that responses at different times agree. Its counter
// video/7 is saturated, grows from 1 to 64 write shards and cools. Its counter checkout is hot to the end.
var (
	unreadFrom = noon.Add(-12 * time.Minute)
	unreadTo   = noon.Add(-11 * time.Minute)
	halfRead   = unreadTo // the 10 s column that begins here was partly read
)

// protagonist is a key of the story that has write shards.
type protagonist struct {
	name    string
	demand  func(t time.Time) float64 // WCU/s that writers ask for
	changes []change
}

type change struct {
	at            time.Time
	before, after int
}

const partitionWCU, hotWCU = 1000, 700

func rise(t, at time.Time, seconds float64) float64 {
	return 1 / (1 + math.Exp(-t.Sub(at).Seconds()/seconds))
}

var protagonists = []protagonist{
	{"checkout", func(t time.Time) float64 { return 40 + 830*rise(t, noon.Add(-150*time.Second), 8) },
		[]change{{noon.Add(-75 * time.Second), 1, 2}}},
	{"video/7", func(t time.Time) float64 {
		if t.Before(noon.Add(-9 * time.Minute)) {
			return 0
		}
		return 8200 * rise(t, noon.Add(-430*time.Second), 14) * (1 - 0.9*rise(t, noon.Add(-100*time.Second), 20))
	}, []change{{noon.Add(-440 * time.Second), 1, 4}, {noon.Add(-400 * time.Second), 4, 16}, {noon.Add(-370 * time.Second), 16, 64}}},
}

func (p protagonist) shards(t time.Time) int {
	n := 1
	for _, c := range p.changes {
		if !t.Before(c.at) {
			n = c.after
		}
	}
	return n
}

// taken returns a write shard's WCU/s at a time. The first write shard of checkout takes most of its load.
func (p protagonist) taken(t time.Time, shard int) float64 {
	n := p.shards(t)
	if shard >= n {
		return 0
	}
	share := 1 / float64(n)
	if p.name == "checkout" && n == 2 {
		share = []float64{0.85, 0.15}[shard]
	}
	return min(0.99*partitionWCU, p.demand(t)*share*(0.97+0.06*noise(p.name, shard, t.Unix()/10)))
}

func (p protagonist) all(t time.Time) (sum float64) {
	for i := range p.shards(t) {
		sum += p.taken(t, i)
	}
	return sum
}

// noise returns a number between 0 and 1 that depends only on its arguments.
func noise(of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return float64(h.Sum64()%10_000) / 10_000
}

// axis has the columns of a response.
type axis struct {
	from, asOf time.Time
	step       time.Duration
	columns    int
}

// columnsOf returns the columns that the API chooses for a time range.
func columnsOf(from, to time.Time) axis {
	step := 10 * time.Minute
	for _, s := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if to.Sub(from) <= 240*s {
			step = s
			break
		}
	}
	first := from.Truncate(step)
	return axis{from: first, step: step, asOf: to.Truncate(10 * time.Second), columns: int(to.Add(step-1).Truncate(step).Sub(first) / step)}
}

// covered returns the share of a column that was read.
func (a axis) covered(i int) float64 {
	start := a.from.Add(time.Duration(i) * a.step)
	switch {
	case !start.Before(unreadFrom) && start.Before(unreadTo), !start.Before(a.asOf):
		return 0
	case start.Equal(halfRead):
		return 0.5
	}
	return min(1, float64(a.asOf.Sub(start))/float64(a.step))
}

// sums returns the units of a rate in each column, and the highest 10 s mean in each.
func (a axis) sums(rate func(t time.Time) float64) (units []int, heaviest []float64) {
	units, heaviest = make([]int, a.columns), make([]float64, a.columns)
	every := max(10*time.Second, a.step/20)
	for i := range a.columns {
		for at := time.Duration(0); at < a.step && a.covered(i) > 0; at += every {
			t := a.from.Add(time.Duration(i)*a.step + at)
			if t.Before(a.asOf) {
				units[i] += int(rate(t) * min(every, a.step).Seconds() * math.Max(0.5, math.Floor(a.covered(i)+0.6)))
				heaviest[i] = max(heaviest[i], math.Round(10*rate(t))/10)
			}
		}
	}
	return units, heaviest
}

// row returns a matrix row with a mean rate.
func row(key string, keys int, status string, rate float64, units []int) object {
	made := object{"key": key, "keys": keys, "status": status, "worst": status, "write_units_per_second": rate, "peak": rate * 1.2, "current": 0, "units": units, "error": make([]int, len(units)), "heaviest": make([]float64, len(units))}
	if keys > 1 {
		made["first"], made["last"] = key+"0", key+"zz"
	}
	return made
}

// rated sets a row's rates and statuses by its heaviest windows.
func (a axis) rated(r object, heaviest []float64) object {
	top, newest := slices.Max(heaviest), 0.0
	for i, h := range heaviest {
		if a.covered(i) > 0 {
			newest = h
		}
	}
	verdict := func(rate float64) string {
		switch {
		case rate >= 0.98*partitionWCU:
			return "saturated"
		case rate >= hotWCU:
			return "hot"
		}
		return "normal"
	}
	r["heaviest"], r["write_units_per_second"], r["peak"], r["current"] = heaviest, top, math.Round(1.04*top), newest
	r["status"], r["worst"] = verdict(newest), verdict(top)
	return r
}

// shardRow returns the row of a write shard.
func (p protagonist) shardRow(a axis, shard int) object {
	units, heaviest := a.sums(func(t time.Time) float64 { return p.taken(t, shard) })
	return a.rated(row(fmt.Sprintf("C#%s#%d", p.name, shard), 1, "normal", 0, units), heaviest)
}

// row returns the base key's row, with its write shards if it is unfolded.
func (p protagonist) row(a axis, unfold []string) object {
	end := a.asOf.Add(-time.Second)
	units, _ := a.sums(p.all)
	_, heaviest := a.sums(func(t time.Time) float64 { return max(p.taken(t, 0), p.taken(t, 1)) })
	r := a.rated(row("C#"+p.name, 1, "normal", 0, units), heaviest)
	r["type"], r["name"], r["shards"] = "counter", p.name, p.shards(end)
	changes := []object{}
	for _, c := range p.changes {
		if !c.at.Before(a.from) && c.at.Before(a.asOf) {
			changes = append(changes, object{"time": stamp(c.at), "before": c.before, "shards": c.after, "by": "ingest", "why": "its writes were throttled"})
		}
	}
	r["changes"] = changes
	if r["status"] == "normal" && r["worst"] != "normal" {
		r["cooled_at"] = stamp(noon.Add(-400 * time.Second))
	}
	if slices.Contains(unfold, "C#"+p.name) {
		shards := []object{}
		for i := range p.shards(end) {
			shards = append(shards, p.shardRow(a, i))
		}
		r["write_shards"] = shards
	}
	return r
}

// storm returns the story's response of GET /v1/heat.
func storm(q heatQuery) object {
	a := columnsOf(q.from, q.to)
	var rows []object
	cold := func(prefix string, i int, most float64) {
		key := fmt.Sprintf("%s%02d", prefix, i)
		base := 2 + most*math.Pow(noise(prefix, i), 4)
		units, heaviest := a.sums(func(t time.Time) float64 { return base * (1 + 0.6*math.Sin(float64(t.Unix())/90+float64(i))) })
		rows = append(rows, a.rated(row(key, 30+i, "normal", 0, units), heaviest))
	}
	rows = append(rows, protagonists[0].row(a, q.unfold))
	for i := range 60 {
		cold("C#page/", i, 60)
	}
	rows = append(rows, protagonists[1].row(a, q.unfold))
	for i := range 40 {
		cold("E#sensor-", i, 30)
	}
	covered := make([]float64, a.columns)
	for i := range covered {
		covered[i] = a.covered(i)
	}
	heat := matrix(a.from, a.step, rows, covered)
	heat["as_of"] = stamp(a.asOf)
	return only(heat, q.filter)
}

// signals returns the throttled writes of the story.
func signals(span Span) SignalsAnswer {
	out := SignalsAnswer{Source: "limiter", Throttled: span.Columns(time.Time{})}
	a := axis{from: span.From, step: span.Step, asOf: noon.Add(time.Hour), columns: len(out.Throttled)}
	for _, p := range protagonists {
		key := ThrottledKey{Key: "C#" + p.name, Type: "counter", Name: p.name, Throttled: span.Columns(time.Time{})}
		throttled, _ := a.sums(func(t time.Time) float64 { return max(0, 0.95*p.demand(t)-p.all(t)) })
		for i, n := range throttled {
			*key.Throttled[i] += int64(n)
			*out.Throttled[i] += int64(n)
		}
		out.Keys = append(out.Keys, key)
	}
	return out
}

// matrix returns a response with these rows, and with units outside them.
func matrix(from time.Time, step time.Duration, rows []object, covered []float64) object {
	columns := len(covered)
	rest, total := make([]int, columns), make([]int, columns)
	for i := range columns {
		rest[i] = int(25 * step.Seconds() * math.Ceil(covered[i]))
		total[i] = rest[i]
		for _, r := range rows {
			total[i] += r["units"].([]int)[i]
		}
	}
	return object{
		"from": stamp(from), "to": stamp(from.Add(time.Duration(columns) * step)), "step": step.String(), "partition_wcu": partitionWCU, "hot_wcu": hotWCU, "as_of": stamp(noon),
		"rows": rows, "rest": rest, "total": total, "covered": covered,
	}
}

// only keeps the rows whose keys contain a text, and adds the other rows' units to rest.
func only(heat object, filter string) object {
	rows, rest := []object{}, heat["rest"].([]int)
	for _, r := range heat["rows"].([]object) {
		if strings.Contains(strings.ToLower(r["key"].(string)), strings.ToLower(filter)) {
			rows = append(rows, r)
			continue
		}
		for i, u := range r["units"].([]int) {
			rest[i] += u
		}
	}
	heat["rows"] = rows
	return heat
}
