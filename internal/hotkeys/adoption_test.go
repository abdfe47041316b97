package hotkeys_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// orders is a fake adopted table.
type orders struct {
	mu    sync.Mutex
	asked []string        // partition keys that were queried
	taken map[string]bool // partition keys that have items
	fail  error
}

func (o *orders) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	o.mu.Lock()
	o.asked = append(o.asked, pk)
	o.mu.Unlock()
	if in.ConsistentRead == nil || !*in.ConsistentRead || *in.Limit != 1 || *in.TableName != "hotshard-orders" || in.ExpressionAttributeNames["#pk"] != "pk" {
		return nil, fmt.Errorf("unexpected query %+v", in)
	}
	out := &dynamodb.QueryOutput{}
	if o.taken[pk] {
		out.Items = []map[string]types.AttributeValue{{"pk": str(pk)}}
	}
	return out, o.fail
}

// adopted returns settings for the adopted table hotshard-orders.
func adopted(layout string) hotkeys.Settings {
	s := existing("heat", "hotshard-orders")
	s.PartitionWCU = 100
	s.SourceMap, s.SourceLayout, s.SourceFormat, s.SourceMax, s.SourceNamespace = "orders-shard-map", layout, "#SHARD_", 1000, "orders/"
	if layout == "buckets" {
		s.SourceBucket = "day"
	}
	return s
}

// newAdopted returns a detector of an adopted table.
func newAdopted(t *testing.T, s hotkeys.Settings, table *orders) *fixture {
	t.Helper()
	f := newFixture(settings())
	f.rebuild(t, s, func(deps *hotkeys.Deps) { adopt(deps, table) })
	return f
}

// adopt makes a detector read an adopted table.
func adopt(deps *hotkeys.Deps, table *orders) {
	deps.Source, deps.Adopted = count.Source{Table: "hotshard-orders", PartitionKey: "pk", SortKey: "sk"}, table
}

// sold returns n orders under a partition key, written in the second at.
func sold(pk string, n int, at float64) (all writes) {
	for i := range n {
		all = append(all, write{key: pk, at: at, sk: fmt.Sprintf("%.0f-%d", at, i), image: `{"total":{"N":"1"}}`})
	}
	return all
}

// TestAdoptedTableGrows checks that a hot name of an adopted table grows to the count that its rate needs, after
// queries for the new partition keys. The rates of its write shards are summed.
func TestAdoptedTableGrows(t *testing.T) {
	for _, c := range []struct {
		layout string
		writes writes
		shards int // before
		want   string
		asked  []string // the first and the last partition key that is queried
	}{
		{"random", sold("acme", 800, 1), 1, "orders/acme 1>4", []string{"acme#SHARD_1", "acme#SHARD_3"}},
		{"calculated", sold("acme", 800, 1), 1, "orders/acme 1>7", []string{"acme#SHARD_1", "acme#SHARD_6"}},
		{"buckets", sold("acme#2026-01-05", 800, 1), 1, "orders/acme 1>7", []string{"acme#2026-01-05#SHARD_1", "acme#2026-01-06#SHARD_6"}},
		{"calculated", slices.Concat(sold("acme", 750, 1), sold("acme#SHARD_1", 740, 2)), 2, "orders/acme 2>12", []string{"acme#SHARD_10", "acme#SHARD_9"}},
	} {
		table := &orders{}
		f := newAdopted(t, adopted(c.layout), table)
		if c.shards > 1 {
			f.shards.grown("orders/acme", c.shards)
		}
		f.must(t, batch{writes: c.writes, first: 1, final: true, table: "orders"}.payload())
		if len(f.shards.changes) != 1 || !strings.HasPrefix(f.shards.changes[0], c.want) {
			t.Errorf("%s: changes %v, want %s\n%s", c.layout, f.shards.changes, c.want, f.logs)
			continue
		}
		slices.Sort(table.asked)
		if n := len(table.asked); n == 0 || table.asked[0] != c.asked[0] || table.asked[n-1] != c.asked[1] {
			t.Errorf("%s: queried %v, want %s to %s", c.layout, table.asked, c.asked[0], c.asked[1])
		}
		if logs := f.logs.String(); !strings.Contains(logs, "Increase from") && !strings.Contains(logs, "Resharded") {
			t.Errorf("%s: no advice on write shards:\n%s", c.layout, logs)
		}
	}
}

// TestAdoptedTableDoesNotGrow lists conditions under which a hot name of an adopted table does not grow.
func TestAdoptedTableDoesNotGrow(t *testing.T) {
	hot := sold("acme", 800, 1)
	oneItem := slices.Repeat(writes{{key: "acme", at: 1, sk: "a", image: `{"n":{"N":"2"}}`, old: `{"n":{"N":"1"}}`}}, 800)
	updates := slices.Clone(hot)
	for i := range updates {
		updates[i].old = `{"total":{"N":"0"}}`
	}
	for name, c := range map[string]struct {
		layout   string // calculated if ""
		writes   writes
		table    *orders // may be nil
		settings func(*hotkeys.Settings)
		shards   func(*fakeShards)
		log      string // the reason that is logged
	}{
		"one item":       {writes: oneItem, log: "one item takes 800 of 800 writes"},
		"half one item":  {writes: slices.Concat(oneItem, hot), log: "one item takes 800 of 1600 writes"},
		"updates":        {writes: updates, log: "change items that stay where they are"},
		"key in use":     {writes: hot, table: &orders{taken: map[string]bool{"acme#SHARD_2": true}}, log: "the partition key acme#SHARD_2 of a new write shard"},
		"failed query":   {writes: hot, table: &orders{fail: errPut}, log: "partition keys of new write shards not read"},
		"a similar key":  {writes: sold("acme#SHARD_3", 800, 1), log: "Not sharded"},
		"no bucket":      {layout: "buckets", writes: hot, log: "Not sharded"},
		"an old bucket":  {layout: "buckets", writes: sold("acme#2026-01-02", 800, 1), log: "past days keep their write shards"},
		"the setting":    {writes: hot, settings: func(s *hotkeys.Settings) { s.SourceMax = 1 }, log: "1 write shards are the most that are allowed"},
		"observe":        {writes: hot, settings: func(s *hotkeys.Settings) { s.Control = growth.Observe }, log: "shard count would change"},
		"off":            {writes: hot, settings: func(s *hotkeys.Settings) { s.Control = growth.Off }, log: "Increase from 1 to 7"},
		"pinned":         {writes: hot, shards: func(f *fakeShards) { f.entries["orders/acme"] = shardmap.Entry{Pinned: true} }},
		"few partitions": {writes: hot, shards: func(f *fakeShards) { f.partitions = 1; f.grown("orders/acme", 4) }, log: "the table's 1 partitions"},
	} {
		s, table, f := adopted(cmp.Or(c.layout, "calculated")), cmp.Or(c.table, &orders{}), newFixture(settings())
		if c.settings != nil {
			c.settings(&s)
		}
		if c.shards != nil {
			c.shards(f.shards)
		}
		f.rebuild(t, s, func(deps *hotkeys.Deps) { adopt(deps, table) })
		f.must(t, batch{writes: c.writes, first: 1, final: true, table: "orders"}.payload())
		if len(f.shards.changes) > 0 || !strings.Contains(f.logs.String(), c.log) {
			t.Errorf("%s: changes %v, want none and the log %q\n%s", name, f.shards.changes, c.log, f.logs)
		}
	}
}

// grown sets a key's count, which has been in effect for an hour.
func (f *fakeShards) grown(key string, n int) {
	f.set(key, n, start.Add(-time.Hour))
	e := f.entries[key]
	e.Max = n
	f.entries[key] = e
}

// TestAdoptedKeysAreReadOncePerWindow checks that a name that can't grow does not cost reads with each delivery.
func TestAdoptedKeysAreReadOncePerWindow(t *testing.T) {
	table := &orders{taken: map[string]bool{"acme#SHARD_1": true}}
	f := newAdopted(t, adopted("random"), table)
	var state map[string]string
	for i := range 9 {
		state = f.must(t, batch{writes: sold("acme", 200, float64(i)), first: 1 + 1000*i, state: state, table: "orders"}.payload())
	}
	if len(table.asked) == 0 || len(table.asked) > 16 || len(f.shards.changes) > 0 || strings.Count(f.logs.String(), "hot key not grown") != 1 {
		t.Errorf("queried %v, want 1 to 16 keys; changes %v, want none\n%s", table.asked, f.shards.changes, f.logs)
	}
}

// TestAdoptedTableOfLargeItems checks that a name whose batches have one record of 100 KB each grows if the items are
// new, and does not if all writes update one item.
func TestAdoptedTableOfLargeItems(t *testing.T) {
	large := fmt.Sprintf(`{"total":{"S":%q}}`, strings.Repeat("x", 100<<10))
	for _, c := range []struct {
		sk, old string
		changes int
		log     string
	}{{"%d", "", 1, ""}, {"always", large, 0, "one item takes"}} {
		f := newAdopted(t, adopted("random"), &orders{})
		for window := range 3 {
			var state map[string]string
			for i := range 10 {
				sk := c.sk
				if c.old == "" {
					sk = fmt.Sprintf(c.sk, 10*window+i)
				}
				w := write{key: "acme", at: float64(10*window + i), sk: sk, image: large, old: c.old}
				state = f.must(t, batch{writes: writes{w}, first: 1 + 10*window + i, later: time.Duration(window) * 10 * time.Second, state: state, final: i == 9, table: "orders"}.payload())
			}
		}
		if len(f.shards.changes) < c.changes || len(f.shards.changes) > 2*c.changes || !strings.Contains(f.logs.String(), c.log) {
			t.Errorf("item %s: changes %v, want %d\n%s", c.sk, f.shards.changes, c.changes, f.logs)
		}
	}
}

// TestAdoptedPartitionsAreNoted checks that the partitions of an adopted table are noted under the table's name, which
// a grower uses.
func TestAdoptedPartitionsAreNoted(t *testing.T) {
	f := newFixture(settings())
	f.rebuild(t, adopted("random"), func(deps *hotkeys.Deps) {
		adopt(deps, &orders{})
		deps.Partitions = func(_ context.Context, table string) (int, error) { return len(table), nil }
	})
	f.layersTask(t)
	if want := []string{"hotshard-orders 15"}; !slices.Equal(f.shards.noted, want) || f.shards.snapshots > 0 {
		t.Errorf("noted %v, want %v; %d snapshots, want none", f.shards.noted, want, f.shards.snapshots)
	}
}
