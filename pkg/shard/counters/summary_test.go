package counters_test

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type item = map[string]types.AttributeValue

func number(n int64) types.AttributeValue { return dynamo.Number(n) }

// maxima returns the attribute with the shard counts that writers have stored.
func maxima(list ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: list} }

// put stores an item of a counter.
func put(t *testing.T, d *libtest.Deployment, table, pk, sk string, it item) {
	t.Helper()
	stored := dynamo.Key(pk, sk)
	for name, value := range it {
		stored[name] = value
	}
	if _, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: stored}); err != nil {
		t.Fatal(err)
	}
}

// zero stores write shard 0.
func zero(t *testing.T, d *libtest.Deployment, name string, it item) {
	t.Helper()
	pk, sk := schema.CounterKey(name, 0)
	put(t, d, d.Names.Items, pk, sk, it)
}

// partial stores the partial of a write shard, folded a second after 1970.
func partial(t *testing.T, d *libtest.Deployment, name string, source int, value types.AttributeValue) {
	t.Helper()
	put(t, d, d.Names.Rollups, schema.SummaryKey(name, source), schema.SoleSK, item{
		schema.ValueAttr(source): value, schema.AsOf: number(1000),
	})
}

// TestRepeatedNamesHaveSeparateValues checks that a name which is read twice has its value twice, and that the values
// don't share memory.
func TestRepeatedNamesHaveSeparateValues(t *testing.T) {
	d := libtest.Deploy(t)
	zero(t, d, "a", item{"value": number(5)})
	zero(t, d, "b", item{"value": number(7)})
	now := libtest.Later
	source := counters.NewSummaries(d.Client, d.Names.Items, d.Names.Rollups, d.Shards)
	for name, read := range map[string]func(names []string) ([]counters.Summary, error){
		"summaries": func(names []string) ([]counters.Summary, error) { return source.Read(libtest.Within(t), names, now) },
		"cached": func(names []string) ([]counters.Summary, error) {
			return counters.NewCachedSummaries(source, time.Second).Read(libtest.Within(t), names, now)
		},
	} {
		list, err := read([]string{"a", "b", "a", "never", "a", "never"})
		require.NoError(t, err)
		for i, want := range []int64{5, 7, 5, 0, 5, 0} {
			if s := list[i]; s.Value.Int64() != want || s.Shards != 1 || !s.ReadAt.Equal(now.Round(0)) || !s.AsOf.Equal(s.ReadAt) || s.Err != nil {
				t.Errorf("%s, summary %d: %+v, want %d", name, i, s, want)
			}
		}
		if list[0].Value.Add(list[0].Value, big.NewInt(1)); list[2].Value.Int64() != 5 {
			t.Errorf("%s: summaries 0 and 2 share a value", name)
		}
	}
}

// TestSummaryReadsNeededPartialsOnly checks which partials a read needs by the shard map. If the map can't be read, the shard
// counts on write shard 0 decide.
func TestSummaryReadsNeededPartialsOnly(t *testing.T) {
	d := libtest.Deploy(t)
	began := time.UnixMilli(100_000_000).UTC()
	d.SetShards(t, "C#grown", "100000:70")
	d.SetShards(t, "C#young", "100000:4")
	zero(t, d, "grown", item{"value": number(1), schema.Counts: maxima("4", "70", "16")})
	zero(t, d, "told", item{"value": number(1), schema.Counts: maxima("70")})
	zero(t, d, "young", item{"value": number(1)})
	zero(t, d, "cold", item{"value": number(1)})
	zero(t, d, "unfolded", item{"value": number(1), schema.Counts: maxima("70")})
	for _, name := range []string{"grown", "told", "cold", "removed"} {
		partial(t, d, name, 3, number(10))
		partial(t, d, name, 69, number(100))
	}
	folded := time.UnixMilli(1000).UTC()
	lost := shardmap.New(d.Client, "nowhere", shardmap.Options{})
	for _, c := range []struct {
		name     string
		shards   *shardmap.Map
		want     int64
		asOf     time.Time
		requests int // keys of both tables
	}{
		{"grown", d.Shards, 111, began.Add(-5 * time.Second), 3},
		{"grown", lost, 111, folded, 3},
		{"told", d.Shards, 111, folded, 3},
		{"young", d.Shards, 1, began.Add(-5 * time.Second), 2},
		{"young", lost, 1, libtest.Later, 1},
		{"unfolded", d.Shards, 1, libtest.Later, 3},
		{"unfolded", lost, 1, libtest.Later, 3},
		{"cold", d.Shards, 1, libtest.Later, 1},
		{"cold", lost, 1, libtest.Later, 1},
		{"removed", lost, 10, folded, 2}, // the first partial
		{"never", d.Shards, 0, libtest.Later, 2},
	} {
		counted := &libtest.Reads{Client: d.Client}
		list, err := counters.NewSummaries(counted, d.Names.Items, d.Names.Rollups, c.shards).Read(libtest.Within(t), []string{c.name}, libtest.Later)
		require.NoError(t, err)
		if s := list[0]; s.Value.Int64() != c.want || !s.AsOf.Equal(c.asOf) || int(counted.Keys.Load()) != c.requests {
			t.Errorf("%s: %+v after %d keys, want %d as of %v after %d", c.name, s, counted.Keys.Load(), c.want, c.asOf, c.requests)
		}
	}
}

// TestADamagedCounterFailsAlone checks that damaged counters of a call have ErrUnreadable, and the others their values.
func TestADamagedCounterFailsAlone(t *testing.T) {
	d := libtest.Deploy(t)
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("c", i)
		zero(t, d, names[i], item{"value": number(int64(i)), schema.Counts: maxima("2")})
	}
	zero(t, d, "c1", item{"rev": number(1)})
	zero(t, d, "c2", item{"value": number(1), schema.Counts: number(3)})
	partial(t, d, "c3", 1, dynamo.String("x"))
	reader := counters.NewReader(d.Client, d.Names.Items, d.Shards)
	list, err := counters.NewSummaries(d.Client, d.Names.Items, d.Names.Rollups, d.Shards).Read(libtest.Within(t), names, libtest.Later)
	require.NoError(t, err)
	for i, s := range list {
		damaged := i > 0 && i < 4
		if damaged != errors.Is(s.Err, counters.ErrUnreadable) || !damaged && s.Value.Int64() != int64(i) {
			t.Errorf("c%d: %+v, want ErrUnreadable: %t", i, s, damaged)
		}
	}
	if _, err := reader.Sum(libtest.Within(t), "c1"); !errors.Is(err, counters.ErrUnreadable) {
		t.Errorf("Sum of c1: error %v, want ErrUnreadable", err)
	}
}

// TestWriteShard0HasHighestCount checks that writers store the highest shard count on write shard 0, also after a writer
// with an older view and a keyed write.
func TestWriteShard0HasHighestCount(t *testing.T) {
	d := libtest.Deploy(t)
	old := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	now := libtest.Later
	add := func(shards *shardmap.Map, now time.Time, times int) {
		w := counters.NewWriter(d.Client, d.Names.Items, shards, counters.Options{})
		for range times {
			require.NoError(t, w.Add(libtest.Within(t), "c", 1, now))
		}
	}
	most := func() int {
		n, err := dynamo.Largest(d.Item(t, "C#c#0", "-"), schema.Counts)
		require.NoError(t, err)
		return n
	}
	add(d.Shards, now, 1)
	if n := most(); n != 0 {
		t.Errorf("one write shard: the stored count is %d, want none", n)
	}
	d.Pin(t, "C#c", 2, now)
	add(old, now, 1) // loads a view with two write shards
	d.Pin(t, "C#c", 3, now.Add(time.Minute/2))
	add(shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), now, 200) // in 1 of 10^35 runs, no write goes to write shard 0
	if n := most(); n != 3 {
		t.Errorf("the stored count is %d, want 3", n)
	}
	add(old, now, 60) // in 1 of 10^18 runs, no write goes to write shard 0
	w := counters.NewWriter(d.Client, d.Names.Items, old, counters.Options{})
	for shard := -1; shard != 0; {
		keyed := w.AddTransact(libtest.Within(t), "c", 1, now)
		shard = keyed.Attempt.Shard
		if _, err := d.Client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{keyed.Action}}); err != nil {
			t.Fatal(err)
		}
	}
	if set := d.Item(t, "C#c#0", "-")[schema.Counts].(*types.AttributeValueMemberNS).Value; len(set) != 2 {
		t.Errorf("counts %q after writers with an older view, want 2 and 3", set)
	}
	if n := most(); n != 3 {
		t.Errorf("the stored count is %d after writers with an older view, want 3", n)
	}
}
