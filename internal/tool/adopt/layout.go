package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
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
}

// namedStamp is a form of times, with the name of its constant.
type namedStamp struct {
	shard.Stamp
	name string
}

var stamps = []namedStamp{
	{shard.Millis, "Millis"}, {shard.Seconds, "Seconds"}, {shard.Micros, "Micros"}, {shard.Nanos, "Nanos"},
	{shard.UnixMillis, "UnixMillis"}, {shard.UnixSeconds, "UnixSeconds"},
}

// fit adds which layouts fit the sampled items, and chooses one.
func (r *Report) fit(items []map[string]types.AttributeValue, o Options) {
	r.Sampled = len(items)
	stamp, bare := r.stampOf(items)
	by := r.idOf(items)
	r.Layouts = []Fit{r.calculated(items, stamp, bare, by), r.buckets(items, stamp, o.Format), {
		Layout: Random, Fits: true, expression: "table.RandomSuffix{}",
		Why: "Only for items that are never put again, looked up singly or put on a condition: a repeated put may create a second item.",
	}}
	chosen := slices.IndexFunc(r.Layouts, func(f Fit) bool { return f.Layout == o.Layout || o.Layout == "" && f.Fits && f.Layout != Random })
	switch {
	case r.InTheWay.Keys > 0:
		r.refuse("%s stored partition keys, such as %q, read as write shards above 0 of other names: choose another format, or rename them.", counted(r.InTheWay), r.InTheWay.First[0])
	case r.TooLong.Keys > 0:
		r.refuse("%s stored partition keys are too long: with the suffix of a write shard they would exceed %d bytes.", counted(r.TooLong), maxKeyBytes)
	}
	switch {
	case chosen < 0:
		r.refuse("The items have no time, neither in the sort key nor in an attribute of Unix seconds: migrate them (package migrate), or use --layout random if items are only ever added.")
	case !r.Layouts[chosen].Fits:
		r.refuse("The layout %s does not fit: %s", o.Layout, r.Layouts[chosen].Why)
	default:
		r.layout = r.Layouts[chosen].expression
		r.noteAhead(items, stamp, o.Now)
	}
}

func counted(f Found) string {
	if f.Keys == MaxKeys {
		return fmt.Sprint(MaxKeys, " or more")
	}
	return strconv.Itoa(f.Keys)
}

// stampOf returns the stamp with which all sort keys begin, or nil. bare means that a sort key is only the stamp.
func (r *Report) stampOf(items []map[string]types.AttributeValue) (stamp *namedStamp, bare bool) {
	for _, s := range stamps {
		all := len(items) > 0
		bare = false
		for _, it := range items {
			at, rest, err := s.Parse(keyText(it, r.SortKey))
			all = all && err == nil && s.Number() == (r.SortType == "N") && plausible(at)
			bare = bare || rest == ""
		}
		if all {
			return &s, bare
		}
	}
	return nil, false
}

func keyText(it map[string]types.AttributeValue, attr string) string {
	text, _ := dynamo.Attribute(it, attr)
	return text
}

// plausible reports whether t is probably a time, and not another number.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }

// idOf returns a string attribute with a different value in each item, or "".
func (r *Report) idOf(items []map[string]types.AttributeValue) string {
	return r.attributeOf(items, func(v types.AttributeValue, seen map[string]bool) bool {
		text, is := v.(*types.AttributeValueMemberS)
		if !is || seen[text.Value] {
			return false
		}
		seen[text.Value] = true
		return true
	})
}

// secondsOf returns an attribute that is a plausible number of Unix seconds in all items, or "".
func (r *Report) secondsOf(items []map[string]types.AttributeValue) string {
	return r.attributeOf(items, func(v types.AttributeValue, _ map[string]bool) bool {
		number, is := v.(*types.AttributeValueMemberN)
		if !is {
			return false
		}
		seconds, err := strconv.ParseInt(number.Value, 10, 64)
		return err == nil && plausible(time.Unix(seconds, 0))
	})
}

// attributeOf returns the first attribute, other than the keys, that is good in all items.
func (r *Report) attributeOf(items []map[string]types.AttributeValue, good func(v types.AttributeValue, seen map[string]bool) bool) string {
	if len(items) < 2 {
		return ""
	}
	var names []string
	for name := range items[0] {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		seen := map[string]bool{}
		if name != r.PartitionKey && name != r.SortKey && !slices.ContainsFunc(items, func(it map[string]types.AttributeValue) bool { return !good(it[name], seen) }) {
			return name
		}
	}
	return ""
}

// calculated returns whether CalculatedSuffix fits.
func (r *Report) calculated(items []map[string]types.AttributeValue, stamp *namedStamp, bare bool, by string) Fit {
	f := Fit{Layout: Calculated, Fits: true}
	var parts []string
	switch {
	case r.SortType == "B":
		f.Fits, f.Why = false, "The sort key is binary; write shards are calculated from a string or a number."
		return f
	case bare && by != "": // it distinguishes items with equal times
		parts = append(parts, "By: "+strconv.Quote(by))
		f.Why = fmt.Sprintf("By attribute %s, which the keys of Get, Update and Delete must have, too. ", by)
	default:
		f.Why = "By the sort key. "
	}
	switch seconds := r.secondsOf(items); {
	case stamp != nil:
		parts = append(parts, fmt.Sprintf("Time: table.SortTime(%q, shard.%s)", r.SortKey, stamp.name))
		f.Why += "Sort keys begin with the item's time."
	case seconds != "":
		parts = append(parts, fmt.Sprintf("Time: table.AttributeTime(%q)", seconds))
		f.Why += fmt.Sprintf("Check that %s is the item's own time and never changes. Keys of Get, Update and Delete must have it, too.", seconds)
	default:
		f.Fits, f.Why = false, "The sampled items have no time, without which an item's write shard can't be calculated after a growth."
	}
	f.expression = "table.CalculatedSuffix{" + strings.Join(parts, ", ") + "}"
	return f
}

// buckets returns whether TimeBuckets fits: all sampled partition keys end in the time bucket of their items.
func (r *Report) buckets(items []map[string]types.AttributeValue, stamp *namedStamp, f shard.Format) Fit {
	none := Fit{Layout: Buckets, Why: "The partition keys do not end in the time bucket of their items, such as acme" + f.Separator() + "2026-01-05."}
	if stamp == nil {
		return none
	}
	for name, b := range map[string]shard.Bucket{"Minute": shard.Minute, "Hour": shard.Hour, "Day": shard.Day} {
		all := true
		for _, it := range items {
			t, _, _ := stamp.Parse(keyText(it, r.SortKey))
			all = all && strings.HasSuffix(keyText(it, r.PartitionKey), f.Separator()+b.Label(t, 0))
		}
		if !all {
			continue
		}
		expression := fmt.Sprintf("table.TimeBuckets{Bucket: shard.%s, Stamp: shard.%s, By: %q}", name, stamp.name, r.SortKey)
		return Fit{Layout: Buckets, Fits: true, expression: expression, Why: "Partition keys end in the time bucket of their items. A name that has cooled costs nothing in later buckets."}
	}
	return none
}

// noteAhead adds a note if an item is dated further ahead than new items may be.
func (r *Report) noteAhead(items []map[string]types.AttributeValue, stamp *namedStamp, now time.Time) {
	if stamp == nil {
		return
	}
	for _, it := range items {
		if at, _, err := stamp.Parse(keyText(it, r.SortKey)); err == nil && at.After(now.Add(shardmap.MaxEventAhead)) {
			r.addNote("Some items are dated ahead, such as %q: puts of items more than %v ahead are rejected.", keyText(it, r.SortKey), shardmap.MaxAhead)
			return
		}
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
`, r.Table+"-shard-map", r.Table, r.PartitionKey, r.SortKey, r.layout, format, span)
}
