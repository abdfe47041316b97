package adopt

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Layouts of package table.
const (
	Calculated = "calculated"
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
func (r *Report) fit(ctx context.Context, items []item, of times, o Options) {
	r.Sampled = len(items)
	r.Layouts = []Fit{r.calculated(of), {
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
	for i := range r.Layouts {
		f := &r.Layouts[i]
		if !f.Fits || len(items) == 0 {
			continue
		}
		if err := r.try(ctx, *f, items, of, o); err != nil {
			f.Fits, f.Why = false, fmt.Sprintf("A trial of its lines with the sampled items failed: %v.", err)
		}
	}
	r.choose(o.Layout, of)
}

// choose takes the layout that the caller wants, or the first that fits, and adds a refusal if there is none.
func (r *Report) choose(want string, of times) {
	chosen := slices.IndexFunc(r.Layouts, func(f Fit) bool { return f.Layout == want || want == "" && f.Fits && f.Layout != Random })
	switch {
	case chosen >= 0 && r.Layouts[chosen].Fits:
		r.chosen = r.Layouts[chosen]
		return
	case chosen >= 0:
		r.refuse("The layout %s does not fit: %s", want, r.Layouts[chosen].Why)
	case of.own != nil || r.SortType == "B":
		r.refuse("No layout fits: %s Use --layout random if items are only ever added.", r.Layouts[0].Why)
	case r.Sampled == 0:
		r.refuse("The table is empty, so nothing shows where its items have their times: %s", toDo)
	default:
		r.refuse("The items have no time of their own that was found (%s): %s", of.why(), toDo)
	}
	if of.own == nil && r.SortType != "B" {
		r.chosen.expression = fillIn
	}
}

const toDo = "fill in the function Time of the lines, which returns an item's time of creation, or use --layout random if items are only ever added."

// fillIn is a CalculatedSuffix whose Time is still to be written.
const fillIn = `table.CalculatedSuffix{Time: func(it table.Item) (time.Time, error) {
		return time.Time{}, errors.New("return the item's time of creation, from its keys or an attribute that never changes")
	}}`

func counted(f Found) string {
	if f.Keys == MaxKeys {
		return fmt.Sprint(MaxKeys, " or more")
	}
	return strconv.Itoa(f.Keys)
}

// calculated returns whether CalculatedSuffix fits.
func (r *Report) calculated(of times) Fit {
	own := of.own
	switch {
	case r.SortType == "B":
		return Fit{Layout: Calculated, Why: "The sort key is binary; write shards are calculated from a string or a number."}
	case own == nil:
		return Fit{Layout: Calculated, Why: fmt.Sprintf("There is no time of the items' own (%s), without which an item's write shard can't be calculated after a growth.", of.why())}
	}
	why := own.describe()
	if own.attr != r.SortKey {
		why += fmt.Sprintf(" Check that it never changes. Keys of Get, Update and Delete must have %s, too.", own.attr)
	}
	if own.days {
		why += " These are whole days, so a growth takes effect with the next day's items."
	}
	if len(own.without) > 0 {
		why += fmt.Sprintf(" Sort keys without a time, such as %.40q, stay under the plain name.", own.without[0])
	}
	return Fit{
		Layout: Calculated, Fits: true, Why: why, layout: table.CalculatedSuffix{Time: own.read()},
		expression: "table.CalculatedSuffix{Time: " + own.expression() + "}",
	}
}

// formats are the names of formats in Go.
var formats = map[string]string{string(shard.Hash): "shard.Hash", string(shard.HashShard): "shard.HashShard", string(shard.Underscore): "shard.Underscore"}

// lines returns the Go lines that shard the table.
func (r *Report) lines() string {
	format := formats[r.Format]
	if format == "" {
		format = strconv.Quote(r.Format)
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
for item, err := range orders.Query(ctx, name, table.Span{}, now) { // was: client.Query
`, r.name+"-shard-map", r.Table, r.PartitionKey, r.SortKey, r.chosen.expression, format)
}
