package table_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// someShards draws a shard count. Each write shard costs every read a query.
var someShards = rapid.IntRange(1, require.Runs(16, 64))

// TestConformance checks that each strategy reads every written item once and in order, over buckets, pages and changes
// of the shard count.
func TestConformance(t *testing.T) {
	fewer(t, require.Runs(8, 15))
	client := enginetest.Client(t)
	tables := map[types.ScalarAttributeType]string{"S": libtest.Theirs(t, client, "S"), "N": libtest.Theirs(t, client, "N")}
	for _, s := range strategies {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) {
				newWorld(t, r, client, tables[s.sort], s).run(r)
			})
		})
	}
}

// world is a name with its expected items, and the table under test.
type world struct {
	ctx     context.Context
	table   *table.Table
	s       strategy
	found   bool // Get finds single items, and a repeated put overwrites its item
	apart   bool // ids distinguish items with equal sort keys
	name    string
	clock   time.Time
	counts  *libtest.Steps
	width   time.Duration
	made    int
	items   []made // in the order of sort keys
	another string // another name
}

type made struct {
	at   time.Time
	item table.Item
}

func newWorld(t *testing.T, r *rapid.T, client *dynamodb.Client, sharded string, s strategy) *world {
	w := &world{
		ctx: t.Context(), s: s, clock: libtest.Epoch, name: rand.Text(),
		counts: &libtest.Steps{History: shard.History{{Count: someShards.Draw(r, "shards")}}},
	}
	if rapid.Bool().Draw(r, "odd name") && !w.hybrid() {
		w.name += "#7_3#SHARD_01" // no format parses it as a write shard
	}
	w.another = w.name + "x"
	bucket := rapid.SampledFrom([]shard.Bucket{shard.Minute, shard.Hour, shard.Day}).Draw(r, "bucket")
	w.width = bucket.Width()
	w.table = &table.Table{
		Client: client, Name: sharded, PartitionKey: "customer", SortKey: "placed",
		Format: rapid.SampledFrom(s.formats).Draw(r, "format"), Shards: w.counts,
		Layout: s.layout(bucket, w.name),
		First:  rapid.IntRange(0, 1).Draw(r, "first"),
	}
	if !w.hybrid() && rapid.Bool().Draw(r, "plain first") {
		w.table.PlainFirst, w.table.First, w.table.Format = true, 0, cmp.Or(w.table.Format, shard.Hash)
		w.counts.History[0].Count = rapid.SampledFrom([]int{1, w.counts.History[0].Count}).Draw(r, "plain shards")
	}
	if s.fixed {
		w.table.Shards = table.Fixed(w.counts.History[0].Count)
	}
	w.found = !strings.Contains(s.name, "random")
	w.apart = strings.Contains(s.name, "by an id") || strings.Contains(s.name, "buckets, calculated") || strings.Contains(s.name, "buckets, numbers")
	return w
}

func (w *world) hybrid() bool { return strings.HasPrefix(w.s.name, "hybrid buckets") }

// run writes items, reads them and changes the count, for some rounds.
func (w *world) run(r *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(r, "rounds") {
		w.write(r, rapid.IntRange(0, 25).Draw(r, "items"))
		w.check(r)
		w.clock = w.clock.Add(time.Duration(rapid.IntRange(1, 100).Draw(r, "pause")) * w.width / 20).Truncate(time.Second)
		if w.s.fixed {
			continue
		}
		w.counts.History = append(w.counts.History, shard.Change{At: w.clock.Add(shardmap.LeadTime), Count: someShards.Draw(r, "shards")})
		if rapid.Bool().Draw(r, "in force") {
			w.clock = w.clock.Add(shardmap.LeadTime + time.Second)
		}
	}
	w.check(r)
}

// write puts new items with times near now, some of them twice.
func (w *world) write(r *rapid.T, n int) {
	before := slices.Clone(w.items)
	var list []made
	for range n {
		m := w.make(r)
		same := func(o made) bool { return sortText(o) == sortText(m) }
		if !w.apart && (slices.ContainsFunc(before, same) || slices.ContainsFunc(list, same)) {
			continue // it would overwrite the other item
		}
		list = append(list, m)
	}
	again := w.found && rapid.Bool().Draw(r, "again")
	var group errgroup.Group
	group.SetLimit(8)
	var mu sync.Mutex
	var rejected []made
	for _, m := range list {
		group.Go(func() error {
			err := w.table.Put(w.ctx, m.item, w.clock)
			mu.Lock()
			defer mu.Unlock()
			if w.apart && errors.Is(err, shard.ErrMisused) {
				rejected = append(rejected, m)
				return nil
			}
			if w.items = append(w.items, m); err == nil && again {
				err = w.table.Put(w.ctx, m.item, w.clock)
			}
			return errors.Join(err, w.decoy(m))
		})
	}
	if err := group.Wait(); err != nil {
		r.Fatal(err)
	}
	w.checkRejected(r, rejected)
	slices.SortFunc(w.items, func(a, b made) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(sortText(a), sortText(b)), cmp.Compare(libtest.Text(a.item["id"]), libtest.Text(b.item["id"])))
	})
}

// checkRejected checks that another item has each rejected item's write shard and sort key.
func (w *world) checkRejected(r *rapid.T, rejected []made) {
	place := func(m made) string {
		n := shard.Calculated(libtest.Text(m.item["id"]), w.counts.History.At(m.at))
		return fmt.Sprint(sortText(m), " ", n)
	}
	held := map[string]int{}
	for _, m := range w.items {
		held[place(m)]++
	}
	for _, m := range rejected {
		if held[place(m)] != 1 {
			r.Fatalf("%v was rejected, and its primary key has %d items, want 1", m.item, held[place(m)])
		}
	}
}

// decoy puts an item of another name with the same sort key.
func (w *world) decoy(m made) error {
	if w.hybrid() {
		return w.table.Put(w.ctx, table.Item{"customer": libtest.Str(w.another), "placed": m.item["placed"], "id": m.item["id"]}, w.clock)
	}
	return nil
}

// make returns an item with a time near now. Its sort key may equal another's if ids distinguish them.
func (w *world) make(r *rapid.T) made {
	ago := rapid.Int64Range(-int64(shardmap.MaxAhead), int64(2*w.width)).Draw(r, "ago")
	at := w.clock.Add(-time.Duration(ago)).Truncate(w.s.stamp.Unit())
	w.made++
	id := fmt.Sprintf("id-%03d", w.made)
	noID := w.apart && rapid.Bool().Draw(r, "sort key without id")
	if noID {
		at = at.Truncate(w.width / 4)
	}
	m := made{at: at, item: table.Item{"customer": libtest.Str(w.name), "id": libtest.Str(id), "n": libtest.Num(int64(w.made))}}
	switch {
	case w.s.stamp.Number():
		m.item["placed"] = &types.AttributeValueMemberN{Value: w.s.stamp.Format(at)}
	case noID:
		m.item["placed"] = libtest.Str(w.s.stamp.Format(at))
	default:
		m.item["placed"] = libtest.Str(w.s.stamp.Key(at, "#", id))
	}
	return m
}

// check reads a random span in all ways.
func (w *world) check(r *rapid.T) {
	from := w.clock.Add(-time.Duration(rapid.Int64Range(-int64(w.width), int64(4*w.width)).Draw(r, "from")))
	to := from.Add(time.Duration(rapid.Int64Range(-1e9, int64(4*w.width)).Draw(r, "length")))
	var want []made
	for _, m := range w.items {
		if !m.at.Before(from) && m.at.Before(to) {
			want = append(want, m)
		}
	}
	s := table.During(w.s.stamp, from, to)
	s.Consistent = rapid.Bool().Draw(r, "consistent")
	if s.Desc = rapid.Bool().Draw(r, "desc"); s.Desc {
		slices.Reverse(want)
	}
	w.same(r, "Query", w.stream(r, s), want)
	s.Limit = rapid.IntRange(1, 20).Draw(r, "limit")
	w.same(r, "Query with a limit", w.stream(r, s), want[:min(len(want), s.Limit)])
	w.same(r, "pages", w.pages(r, s), want)
	for _, m := range want[:min(3, len(want))] {
		w.checkOne(r, m)
	}
}

func (w *world) stream(r *rapid.T, s table.Span) []table.Item {
	var got []table.Item
	for it, err := range w.table.Query(w.ctx, w.name, s, w.clock) {
		if err != nil {
			r.Fatal(err)
		}
		got = append(got, it)
	}
	return got
}

func (w *world) pages(r *rapid.T, s table.Span) []table.Item {
	var got []table.Item
	for {
		page, err := w.table.Page(w.ctx, w.name, s, w.clock)
		if err != nil || len(page.Items) > s.Limit {
			r.Fatalf("a page of %d items with limit %d, %v", len(page.Items), s.Limit, err)
		}
		got = append(got, page.Items...)
		if s.After = page.Next; s.After == "" {
			return got
		}
		reversed := s
		reversed.Desc = !s.Desc
		_, other := w.table.Page(w.ctx, w.name+"2", s, w.clock)
		_, back := w.table.Page(w.ctx, w.name, reversed, w.clock)
		if !errors.Is(other, shard.ErrMisused) || !errors.Is(back, shard.ErrMisused) {
			r.Fatalf("a cursor of %q with another name: error %v; in another direction: error %v; want ErrMisused", w.name, other, back)
		}
	}
}

// same compares items with the wanted ones, in order.
func (w *world) same(r *rapid.T, how string, got []table.Item, want []made) {
	for i, m := range want {
		if i >= len(got) || libtest.Text(got[i]["id"]) != libtest.Text(m.item["id"]) || libtest.Text(got[i]["customer"]) != w.name || libtest.Text(got[i]["placed"]) != sortText(m) {
			r.Fatalf("%s: item %d of %d: got %v, want %v", how, i, len(got), got[min(i, len(got)):], m.item)
		}
	}
	if len(got) != len(want) {
		r.Fatalf("%s: %d items, want %d", how, len(got), len(want))
	}
}

// checkOne gets a single item if the strategy can find it.
func (w *world) checkOne(r *rapid.T, m made) {
	key := table.Item{"customer": m.item["customer"], "placed": m.item["placed"], "id": m.item["id"]}
	got, err := w.table.Get(w.ctx, key, w.clock)
	if errors.Is(err, shard.ErrMisused) && !w.found {
		return
	}
	if err != nil || libtest.Text(got["n"]) != libtest.Text(m.item["n"]) || libtest.Text(got["customer"]) != w.name || libtest.Text(got["placed"]) != sortText(m) {
		r.Fatalf("Get = %v, %v; want %v", got, err, m.item)
	}
}
