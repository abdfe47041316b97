package adopt

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Layouts of package table.
const (
	Calculated = "calculated"
	Buckets    = "buckets"
	Random     = "random"
)

// Fit reports whether a layout fits the table's items.
type Fit struct {
	Layout string `json:"layout"`
	Fits   bool   `json:"fits"`
	Why    string `json:"why"`

	expression string // in Go
	layout     table.Layout
}

// fit adds which layouts fit the sampled items, and chooses one.
func (r *Report) fit(ctx context.Context, items []item, o Options) {
	r.Sampled = len(items)
	of := r.times(items, o.Now)
	r.Layouts = []Fit{r.calculated(items, of), r.buckets(items, of, o.Format), {
		Layout: Random, Fits: true, expression: "table.RandomSuffix{}", layout: table.RandomSuffix{},
		Why: "Only for items that are never put again, looked up singly or put on a condition: a repeated put may create a second item.",
	}}
	switch {
	case r.InTheWay.Keys > 0:
		r.refuse("%s stored partition keys, such as %q, read as write shards above 0 of other names: choose another format, or rename them.", counted(r.InTheWay), r.InTheWay.First[0])
		return
	case r.TooLong.Keys > 0:
		r.refuse("%s stored partition keys are too long: with the suffix of a write shard they would exceed %d bytes.", counted(r.TooLong), maxKeyBytes)
		return
	}
	for i, f := range r.Layouts {
		if err := r.try(ctx, f, items, of, o); f.Fits && err != nil {
			r.Layouts[i].Fits, r.Layouts[i].Why = false, fmt.Sprintf("A trial of its lines with the sampled items failed: %v.", err)
		}
	}
	r.choose(o.Layout, of)
}

// choose takes the layout that the caller wants, or the first that fits, and adds a refusal if there is none.
func (r *Report) choose(want string, of times) {
	chosen := slices.IndexFunc(r.Layouts, func(f Fit) bool { return f.Layout == want || want == "" && f.Fits && f.Layout != Random })
	switch {
	case chosen >= 0 && r.Layouts[chosen].Fits:
		r.layout = r.Layouts[chosen].expression
	case chosen >= 0:
		r.refuse("The layout %s does not fit: %s", want, r.Layouts[chosen].Why)
	case r.Sampled == 0:
		r.refuse("The table is empty, so nothing shows where its items have their times: examine it again when it has items, or use --layout random if they are only ever added.")
	case of.own != nil:
		r.refuse("No layout fits: %s", r.Layouts[0].Why)
	default:
		r.refuse("The items have no time of their own that was found (%s): write a CalculatedSuffix.Time, a function that returns an item's time of creation from its key, or use --layout random if items are only ever added.", of.why())
	}
}

func counted(f Found) string {
	if f.Keys == MaxKeys {
		return fmt.Sprint(MaxKeys, " or more")
	}
	return strconv.Itoa(f.Keys)
}

// calculated returns whether CalculatedSuffix fits.
func (r *Report) calculated(items []item, of times) Fit {
	f, layout := Fit{Layout: Calculated, Fits: true}, table.CalculatedSuffix{}
	var parts []string
	f.Why = "By the sort key. "
	if by := r.idOf(items); of.bare && by != "" { // it distinguishes items with equal times
		layout.By, parts = by, append(parts, "By: "+strconv.Quote(by))
		f.Why = fmt.Sprintf("By attribute %s, which the keys of Get, Update and Delete must have, too. ", by)
	}
	switch own := of.own; {
	case r.SortType == "B":
		return Fit{Layout: Calculated, Why: "The sort key is binary; write shards are calculated from a string or a number."}
	case own == nil:
		return Fit{Layout: Calculated, Why: fmt.Sprintf("The sampled items have no time of their own (%s), without which an item's write shard can't be calculated after a growth.", of.why())}
	case own.attr == r.SortKey:
		f.Why += "Sort keys begin with the item's time."
	default:
		f.Why += fmt.Sprintf("Check that %s is the item's own time and never changes. Keys of Get, Update and Delete must have it, too.", own.attr)
	}
	layout.Time = table.SortTime(of.own.attr, of.own.Stamp)
	f.layout, f.expression = layout, "table.CalculatedSuffix{"+strings.Join(append(parts, "Time: "+of.own.expression(r.SortKey)), ", ")+"}"
	return f
}

// buckets returns whether TimeBuckets fits: all sampled partition keys end in the time bucket of their items.
func (r *Report) buckets(items []item, of times, f shard.Format) Fit {
	none := Fit{Layout: Buckets, Why: "The partition keys do not end in the time bucket of their items, such as acme" + f.Separator() + "2026-01-05."}
	if of.own == nil || of.own.attr != r.SortKey {
		if len(of.rejected) > 0 {
			none.Why = fmt.Sprintf("The sort key has no time of the item (%s).", of.why())
		}
		return none
	}
	for name, b := range map[string]shard.Bucket{"Minute": shard.Minute, "Hour": shard.Hour, "Day": shard.Day} {
		if slices.ContainsFunc(items, func(it item) bool {
			return !strings.HasSuffix(keyText(it, r.PartitionKey), f.Separator()+b.Label(of.own.time(it), 0))
		}) {
			continue
		}
		return Fit{
			Layout: Buckets, Fits: true, layout: table.TimeBuckets{Bucket: b, Stamp: of.own.Stamp, By: r.SortKey},
			expression: fmt.Sprintf("table.TimeBuckets{Bucket: shard.%s, Stamp: shard.%s, By: %q}", name, of.own.name, r.SortKey),
			Why:        "Partition keys end in the time bucket of their items. A name that has cooled costs nothing in later buckets.",
		}
	}
	return none
}

// formats are the names of formats in Go.
var formats = map[string]string{string(shard.Hash): "shard.Hash", string(shard.HashShard): "shard.HashShard", string(shard.Underscore): "shard.Underscore"}

// lines returns the Go lines that shard the table.
func (r *Report) lines() string {
	format := formats[r.Format]
	if format == "" {
		format = strconv.Quote(r.Format)
	}
	span := "table.Span{}"
	if bounds := strings.SplitN(r.layout, "Stamp: ", 2); len(bounds) == 2 { // time buckets are read between two times
		stamp, _, _ := strings.Cut(bounds[1], ",")
		span = "table.During(" + stamp + ", now.Add(-time.Hour), now)"
	}
	return fmt.Sprintf(`shards := shardmap.New(client, %q, shardmap.Options{})
grower, err := grow.New(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}), grow.Options{Observe: true})
orders := table.Table{
	Client: client, Name: %q, PartitionKey: %q, SortKey: %q,
	Shards: shards, Observer: grower,
	Layout: %s,
	Format: %s, PlainFirst: true,
}
err = orders.Put(ctx, item, now) // was: client.PutItem
for item, err := range orders.Query(ctx, name, %s, now) { // was: client.Query
`, r.name+"-shard-map", r.Table, r.PartitionKey, r.SortKey, r.layout, format, span)
}
