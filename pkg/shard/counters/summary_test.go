package counters_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// twoTables has the items of a counter's write shard 0 and its partial summaries.
type twoTables struct{ items, rollups libtest.Scripted }

func (c *twoTables) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if _, ok := in.RequestItems["rollups"]; ok {
		return c.rollups.BatchGetItem(ctx, in, o...)
	}
	return c.items.BatchGetItem(ctx, in, o...)
}

// keys returns the number of keys that were read of both tables. It reports strongly consistent reads.
func (c *twoTables) keys(t *testing.T) (n int) {
	for _, in := range append(c.items.Read, c.rollups.Read...) {
		for _, asked := range in.RequestItems {
			if n += len(asked.Keys); *asked.ConsistentRead {
				t.Error("a summary is read strongly consistent")
			}
		}
	}
	return n
}

// zero adds write shard 0. value may be nil; counts are the shard counts that writers have stored, if not nil.
func (c *twoTables) zero(name string, value, counts types.AttributeValue) {
	it := dynamo.Key(schema.CounterKey(name, 0))
	if value != nil {
		it["value"] = value
	}
	if counts != nil {
		it[schema.CounterMaxShards] = counts
	}
	c.items.Items = append(c.items.Items, it)
}

// partial adds the partial summary of a write shard.
func (c *twoTables) partial(name string, source int, value types.AttributeValue, folded int64) {
	it := dynamo.Key(schema.SummaryKey(name, source), schema.SoleSK)
	it[schema.ValueAttr(source)], it[schema.AsOf] = value, dynamo.Number(folded)
	c.rollups.Items = append(c.rollups.Items, it)
}

func (c *twoTables) summaries(shards *shardmap.Map) *counters.Summaries {
	return counters.NewSummaries(c, "items", "rollups", shards)
}

// maxima returns the attribute with the shard counts that writers have stored.
func maxima(list ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: list} }

// TestRepeatedNamesHaveSeparateValues checks that a name which is read twice has its value twice, and that the values
// don't share memory.
func TestRepeatedNamesHaveSeparateValues(t *testing.T) {
	tables, now := &twoTables{}, libtest.Later
	tables.zero("a", dynamo.Number(5), nil)
	tables.zero("b", dynamo.Number(7), nil)
	list, err := tables.summaries(libtest.EmptyMap()).Read(t.Context(), []string{"a", "b", "a", "never", "a", "never"}, now)
	require.NoError(t, err)
	for i, want := range []int64{5, 7, 5, 0, 5, 0} {
		if s := list[i]; s.Value.Int64() != want || s.Shards != 1 || !s.ReadAt.Equal(now) || !s.AsOf.Equal(s.ReadAt) || s.Err != nil {
			t.Errorf("summary %d: %+v, want %d", i, s, want)
		}
	}
	if list[0].Value.Add(list[0].Value, big.NewInt(1)); list[2].Value.Int64() != 5 {
		t.Error("summaries 0 and 2 share a value")
	}
}

var errBroken = errors.New("broken")

// lostMap is a view of a shard map that can't be read. Its reads are counted.
func lostMap(reads *int) *shardmap.Map {
	table := enginetest.NewMapTable(10, 0, 0)
	table.Down = func() error {
		*reads++
		return &types.InternalServerError{}
	}
	return shardmap.New(table, "m", shardmap.Options{})
}

// TestSummaryReadsNeededPartialsOnly checks which partials a read needs by the shard map. If the map can't be read, the shard
// counts on write shard 0 decide.
func TestSummaryReadsNeededPartialsOnly(t *testing.T) {
	single := libtest.EmptyMap().SingleUntil(shardmap.Entry{History: shard.History{{At: time.Unix(100_000, 0), Count: 70}}}) // the lead before
	folded := time.UnixMilli(1000)
	for name, c := range map[string]struct {
		history []string // nil if the map can't be read
		counts  types.AttributeValue
		written bool
		folded  bool // there are partials of write shards 3 and 69
		want    int64
		asOf    time.Time
		keys    int // of both tables
	}{
		"grown":                   {[]string{"100000:70"}, maxima("4", "70", "16"), true, true, 111, single, 3},
		"grown, no map":           {nil, maxima("4", "70", "16"), true, true, 111, folded, 3},
		"grown, folded later":     {[]string{"3:70"}, nil, true, true, 111, folded, 3},
		"known to writers only":   {[]string{}, maxima("70"), true, true, 111, folded, 3},
		"young":                   {[]string{"100000:4"}, nil, true, false, 1, single, 2},
		"young, no map":           {nil, nil, true, false, 1, libtest.Later, 1},
		"64":                      {[]string{"100000:64"}, nil, true, true, 11, single, 2},
		"65":                      {[]string{"100000:65"}, nil, true, true, 111, single, 3},
		"after a decrease":        {[]string{"100000:70", "100010:2"}, nil, true, true, 111, single, 3},
		"not folded":              {[]string{}, maxima("70"), true, false, 1, libtest.Later, 3},
		"not folded, no map":      {nil, maxima("70"), true, false, 1, libtest.Later, 3},
		"pinned to one":           {[]string{"100000:1"}, nil, true, true, 1, libtest.Later, 1},
		"always one":              {[]string{}, nil, true, true, 1, libtest.Later, 1},
		"always one, no map":      {nil, nil, true, true, 1, libtest.Later, 1},
		"write shard 0 is absent": {nil, nil, false, true, 10, folded, 2}, // the first partial
		"never written":           {[]string{}, nil, false, false, 0, libtest.Later, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			tables, reads := &twoTables{}, 0
			shards := libtest.MapOf("C#c", c.history...)
			if c.history == nil {
				shards = lostMap(&reads)
			}
			if c.written {
				tables.zero("c", dynamo.Number(1), c.counts)
			}
			if c.folded {
				tables.partial("c", 3, dynamo.Number(10), 999)
				tables.partial("c", 69, dynamo.Number(100), 1000)
				if c.asOf.Equal(folded) && c.keys == 2 {
					tables.rollups.Items[0][schema.AsOf] = dynamo.Number(1000)
				}
			}
			list, err := tables.summaries(shards).Read(t.Context(), []string{"c"}, libtest.Later)
			require.NoError(t, err)
			if s, keys := list[0], tables.keys(t); s.Value.Int64() != c.want || !s.AsOf.Equal(c.asOf) || keys != c.keys || s.Err != nil {
				t.Errorf("%s: %+v after %d keys, want %d as of %v after %d", name, s, keys, c.want, c.asOf, c.keys)
			}
			time.Sleep(time.Hour) // ends the map's load
		})
	}
}

// TestSummariesWaitBrieflyForMap checks how long a read of many counters waits for a shard map that does not answer: a
// second, or half the time until the deadline.
func TestSummariesWaitBrieflyForMap(t *testing.T) {
	for within, want := range map[time.Duration]time.Duration{time.Hour: time.Second, 3 * time.Second: time.Second, time.Second: time.Second / 2} {
		synctest.Test(t, func(t *testing.T) {
			tables, names := &twoTables{}, make([]string, 50)
			for i := range names {
				names[i] = fmt.Sprint("c", i)
				tables.zero(names[i], dynamo.Number(3), nil)
			}
			slow := enginetest.NewMapTable(10, time.Minute, time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			begun := time.Now()
			list, err := tables.summaries(shardmap.New(slow, "m", shardmap.Options{})).Read(ctx, names, libtest.Later)
			if took := time.Since(begun); err != nil || took != want || list[49].Value.Int64() != 3 {
				t.Errorf("within %v: %v after %v, want an answer after %v", within, err, took, want)
			}
			time.Sleep(time.Hour) // ends the map's load
		})
	}
}

// TestADamagedCounterFailsAlone checks that damaged counters of a call have ErrUnreadable, and the others their values.
func TestADamagedCounterFailsAlone(t *testing.T) {
	tables, names := &twoTables{}, make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("c", i)
		value, counts := types.AttributeValue(dynamo.Number(int64(i))), maxima("2")
		switch i {
		case 1:
			value = nil
		case 2:
			counts = dynamo.Number(3)
		case 3:
			tables.partial("c3", 1, dynamo.String("x"), 1000)
		case 4:
			tables.partial("c4", 1, dynamo.Number(0), 1000)
			tables.rollups.Items[1][schema.AsOf] = dynamo.String("x")
		}
		tables.zero(names[i], value, counts)
	}
	list, err := tables.summaries(libtest.EmptyMap()).Read(t.Context(), names, libtest.Later)
	require.NoError(t, err)
	for i, s := range list {
		damaged := i > 0 && i < 5
		if damaged != errors.Is(s.Err, counters.ErrUnreadable) || damaged && (s.Value.Sign() != 0 || !strings.Contains(s.Err.Error(), ": attribute ")) || !damaged && s.Value.Int64() != int64(i) {
			t.Errorf("c%d: %+v, want ErrUnreadable: %t", i, s, damaged)
		}
	}
}

// TestReadsOfCountersFail checks that reads return the error of either table or of the shard map.
func TestReadsOfCountersFail(t *testing.T) {
	for name, tables := range map[string]*twoTables{
		"items": {items: libtest.Scripted{Unread: errBroken}}, "rollups": {rollups: libtest.Scripted{Unread: errBroken}},
	} {
		if _, err := tables.summaries(libtest.MapOf("C#c", "1:2")).Read(t.Context(), []string{"c"}, libtest.Later); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v, want %v", name, err, errBroken)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if sum, err := counters.NewReader(&libtest.Scripted{}, "items", libtest.MapOf("C#c", "1:2")).Sum(ended, "c"); !errors.Is(err, context.Canceled) || sum.Value != nil {
		t.Errorf("without a shard map: %+v, %v; want that the context ended", sum, err)
	}
}
