package heat_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

var windowNoon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// table is a fake heat table, queried in pages of three items.
type table struct {
	items  map[string]map[string]dynamo.Item // by pk and sk
	broken string                            // a pk whose queries fail
}

func newTable() *table {
	return &table{items: make(map[string]map[string]dynamo.Item)}
}

func (f *table) put(item dynamo.Item) {
	pk := dynamo.Text(item, "pk")
	if f.items[pk] == nil {
		f.items[pk] = make(map[string]dynamo.Item)
	}
	f.items[pk][dynamo.Text(item, "sk")] = item
}

func (f *table) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	values := in.ExpressionAttributeValues
	pk, low, high, after := dynamo.Text(values, ":pk"), dynamo.Text(values, ":low"), dynamo.Text(values, ":high"), dynamo.Text(in.ExclusiveStartKey, "sk")
	if pk == f.broken {
		return nil, errors.New("broken")
	}
	var found []string
	for sk := range f.items[pk] {
		if sk >= low && sk <= high && sk > after {
			found = append(found, sk)
		}
	}
	slices.Sort(found)
	out := &dynamodb.QueryOutput{}
	for _, sk := range found[:min(3, len(found))] {
		out.Items = append(out.Items, f.items[pk][sk])
	}
	if len(found) > 3 {
		out.LastEvaluatedKey = dynamo.Item{"sk": out.Items[2]["sk"]}
	}
	return out, nil
}

// item returns the item of a window of ten seconds with one unit.
func item(start time.Time, streamShard string) heat.Item {
	return heat.Item{Start: start, Window: 10 * time.Second, StreamShard: streamShard, Limit: 1000, HotRate: 700, Units: 1, Records: 1}
}

// fold stores items in a series, in the time from from to to.
func (f *table) fold(series heat.Series, items []heat.Item, from, to time.Time) {
	for start := from; start.Before(to); start = start.Add(series.Length()) {
		span := heat.Span{Start: start}
		for at := start; at.Before(start.Add(series.Length())); at = at.Add(10 * time.Second) {
			list := slices.DeleteFunc(slices.Clone(items), func(it heat.Item) bool { return !it.Start.Equal(at) })
			span.Windows = append(span.Windows, heat.FoldAll(list, at, 0)...)
		}
		if series == heat.Blocks {
			span.Windows = heat.FoldAll(span.Windows, start, series.Length())
		}
		f.put(series.Stored(&span, windowNoon.Add(24*time.Hour)))
	}
}

// TestWindows checks that each window of a range is returned once, in order, from blocks if the step allows it. Some items
// are late.
func TestWindows(t *testing.T) {
	f := newTable()
	var items, lateItems []heat.Item
	const all = 3 * 360
	for n := range all {
		for shard := range 2 {
			it := item(windowNoon.Add(time.Duration(n)*10*time.Second), fmt.Sprint("s", shard))
			stored := it.Stored(windowNoon.Add(24 * time.Hour))
			if late := n%7 == shard; late {
				it.MakeLate(stored)
				lateItems = append(lateItems, it)
			} else {
				items = append(items, it)
			}
			f.put(stored)
		}
	}
	progress := heat.Progress{From: windowNoon.Add(20 * time.Minute), To: windowNoon.Add(2*time.Hour + 47*time.Minute)}
	progress.Blocks = windowNoon.Add(2 * time.Hour)
	f.put(progress.Attributes())
	f.fold(heat.Minutes, items, progress.From, progress.To)
	f.fold(heat.Blocks, slices.Concat(items, lateItems), progress.From, progress.Blocks)
	reader := heat.WindowReader{Client: f, Table: "heat"}
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 8))
		from := windowNoon.Add(time.Duration(random.IntN(all*10)) * time.Second)
		to := from.Add(time.Duration(random.IntN(all*10)) * time.Second)
		step := []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour}[random.IntN(7)]
		var units, want uint64
		last, longest := time.Time{}, 10*time.Second
		for w, err := range reader.Windows(context.Background(), from, to, step) {
			if err != nil || len(w.Items) == 0 || w.Start.Before(last) || w.Start.Before(from) || !w.Start.Before(to) {
				rt.Fatalf("%v, or window %v with %d items follows %v, in %v to %v", err, w.Start, len(w.Items), last, from, to)
			}
			for _, it := range w.Items {
				if !it.Start.Equal(w.Start) || it.Window > 10*time.Second && it.Window > step {
					rt.Fatalf("the window of %v has an item of %v that lasts %v, for steps of %v", w.Start, it.Start, it.Window, step)
				}
				units += it.Units
				longest = max(longest, it.Window)
				if folded := !w.Start.Before(progress.From) && w.Start.Before(progress.To); folded != (it.Base > 0) {
					rt.Fatalf("the window of %v has an item whose base is %v, want a folded one: %v", w.Start, it.Base, folded)
				}
			}
			last = w.Items[0].End()
		}
		for n := range all {
			if at := windowNoon.Add(time.Duration(n) * 10 * time.Second); !at.Before(from) && at.Before(to) {
				want += 2
			}
		}
		if units != want {
			rt.Fatalf("%v to %v by %v: %d units, want %d", from, to, step, units, want)
		}
		if inner := to.Sub(from) > time.Hour && from.After(progress.From) && to.Before(progress.Blocks); inner && step >= 10*time.Minute && longest != 10*time.Minute {
			rt.Fatalf("%v to %v by %v: the longest window is %v, want 10m", from, to, step, longest)
		}
	})
}

// TestFullItems checks which full items are read with and without windows that are stored together, and that an error of the
// progress ends the iteration.
func TestFullItems(t *testing.T) {
	f := newTable()
	f.put((&heat.Progress{Held: time.Minute}).Attributes())
	alone, together := item(windowNoon.Add(time.Minute), "a"), []heat.Item{item(windowNoon.Add(time.Minute), "b"), item(windowNoon.Add(70*time.Second), "b"), item(windowNoon.Add(80*time.Second), "b")}
	f.put(alone.Stored(windowNoon))
	f.put(heat.StoredHeld(together, windowNoon))
	reader := heat.WindowReader{Client: f, Table: "heat", Consistent: true}
	from, to := windowNoon.Add(70*time.Second), windowNoon.Add(time.Hour)
	for name, c := range map[string]struct {
		read iter.Seq2[heat.Window, error]
		want string
	}{
		"all":      {reader.Windows(t.Context(), windowNoon, to, time.Second), "60:2 70:1 80:1 "},
		"from 70":  {reader.Windows(t.Context(), from, to, time.Second), "70:1 80:1 "},
		"alone":    {reader.WithoutHeld(t.Context(), windowNoon, to), "60:2 70:1 80:1 "},
		"the held": {reader.WithoutHeld(t.Context(), from, to), ""},
	} {
		got := ""
		for w, err := range c.read {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(w.Start.Sub(windowNoon).Seconds(), ":", len(w.Items), " ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	in := reader.Query("K#x", "a", "b")
	if *in.TableName != "heat" || !*in.ConsistentRead || dynamo.Text(in.ExpressionAttributeValues, ":pk") != "K#x" || dynamo.Text(in.ExpressionAttributeValues, ":low") >= dynamo.Text(in.ExpressionAttributeValues, ":high") {
		t.Errorf("query %+v", in)
	}
	f.broken = heat.ProgressPartition
	n := 0
	for _, err := range reader.Windows(t.Context(), windowNoon, to, time.Second) {
		if n++; err == nil {
			t.Error("the error was dropped")
		}
	}
	if n != 1 {
		t.Errorf("%d results after the progress failed", n)
	}
	f.broken = ""
	f.items[heat.ProgressPartition]["-"]["v"] = dynamo.Number(4)
	if p, err := reader.Progress(t.Context()); err != nil || !p.From.IsZero() {
		t.Errorf("a progress of another release: %+v, %v", p, err)
	}
}

// TestWindowsFail checks that an unreadable item is returned with its window, and that any other error ends the
// iteration.
func TestWindowsFail(t *testing.T) {
	f := newTable()
	progress := heat.Progress{From: windowNoon, To: windowNoon.Add(time.Minute)}
	f.put(progress.Attributes())
	damaged := item(windowNoon, "s")
	stored := damaged.Stored(windowNoon)
	stored["pk"], stored["windows"] = &types.AttributeValueMemberS{Value: "H#1m#2026-01-05T12"}, &types.AttributeValueMemberN{Value: "1"}
	f.put(stored)
	read := func() (all []heat.Window, errs []error) {
		for w, err := range (heat.WindowReader{Client: f}).Windows(t.Context(), windowNoon, windowNoon.Add(time.Hour), time.Second) {
			if err != nil {
				errs = append(errs, err)
			} else {
				all = append(all, w)
			}
		}
		return all, errs
	}
	if all, errs := read(); len(errs) != 0 || len(all) != 1 || len(all[0].Unreadable) != 1 {
		t.Errorf("a damaged item: %v, %v; want one window with an unreadable item", all, errs)
	}
	for _, pk := range []string{heat.ProgressPartition, "H#1m#2026-01-05T12", "K#2026-01-05T12#3"} {
		f.broken = pk
		if _, errs := read(); len(errs) != 1 {
			t.Errorf("a failed query of %s: errors %v, want one", pk, errs)
		}
	}
	f.broken = ""
	f.items[heat.ProgressPartition]["-"]["to"] = &types.AttributeValueMemberS{Value: "x"}
	if _, errs := read(); len(errs) != 1 {
		t.Errorf("a damaged progress: errors %v, want one", errs)
	}
}
