package adopt

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// chooseLayout sets a layout that calculates the write shard from the items' own time, if a trial of the report's lines with
// the sampled items succeeds. Otherwise it adds a refusal. If only the time is missing, it sets an expression to fill in.
func (r *Report) chooseLayout(ctx context.Context, items []item, found foundTimes, options Options) {
	r.Sampled = len(items)
	switch {
	case r.InTheWay.Keys > 0:
		r.refuse("%s, such as %q, would be taken for write shards above 0 of other names: choose another format, or rename them.", keyCount(r.InTheWay), r.InTheWay.First[0])
		return
	case r.TooLong.Keys > 0:
		r.refuse("%s would exceed %d bytes with the suffix of a write shard.", keyCount(r.TooLong), maxKeyBytes)
		return
	case r.SortType == "B":
		r.refuse("The sort key is binary; write shards are calculated from a string or a number. Use table.RandomSuffix if items are only ever added.")
		return
	case found.empty:
		r.refuse("The table is empty, so nothing shows where its items have their times: %s", fillInTime)
		r.expression = unfinishedLayout
		return
	case found.own == nil:
		r.refuse("The items have no time of their own that was found (%s): %s", found.reasons(), fillInTime)
		r.expression = unfinishedLayout
		return
	}
	r.layout = table.CalculatedSuffix{Time: found.own.timeFunc()}
	if err := r.tryLines(ctx, items, found, options); err != nil {
		r.refuse("A trial of the lines with the sampled items failed: %v. Use table.RandomSuffix if items are only ever added.", err)
		return
	}
	r.Layout, r.expression = found.own.describe(r.SortKey), "table.CalculatedSuffix{Time: "+found.own.expression()+"}"
}

// fillInTime says what to do if the items' own time was not found.
const fillInTime = "fill in the function Time of the lines, which returns an item's time of creation, or use table.RandomSuffix{} if items are only ever added."

// unfinishedLayout is a CalculatedSuffix whose Time is still to be written.
const unfinishedLayout = `table.CalculatedSuffix{Time: func(it table.Item) (time.Time, error) {
		return time.Time{}, errors.New("return the item's time of creation, from its keys or an attribute that never changes")
	}}`

// keyCount returns the number of keys as text.
func keyCount(f Found) string {
	if f.Keys == maxKeys {
		return fmt.Sprint(maxKeys, " or more stored partition keys")
	}
	return display.Several(f.Keys, "stored partition key")
}

// formats has the Go names of package shard's formats.
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
`, r.name+"-shard-map", r.Table, r.PartitionKey, r.SortKey, r.expression, format)
}
