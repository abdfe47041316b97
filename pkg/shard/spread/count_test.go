package spread

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var errBroken = errors.New("broken")

// counting is a client whose queries count the items of a partition key, and whose batches read scripted items.
type counting struct {
	libtest.Scripted
	counts map[string]int32
	fails  string        // the partition key whose query fails
	later  []dynamo.Item // what the second batch reads
	unread int           // the number of the batch that fails

	mu      sync.Mutex
	queries []*dynamodb.QueryInput
}

// partition returns the partition key of a query.
func partition(in *dynamodb.QueryInput) string {
	return dynamo.Text(in.ExpressionAttributeValues, ":pk") + dynamo.Text(in.ExpressionAttributeValues, ":shard")
}

func (c *counting) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries = append(c.queries, in)
	if pk := partition(in); pk != c.fails {
		return &dynamodb.QueryOutput{Count: c.counts[pk]}, nil
	}
	return nil, errBroken
}

func (c *counting) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if len(c.Read) == 1 {
		c.Items = c.later
	}
	if len(c.Read)+1 == c.unread {
		return nil, errBroken
	}
	return c.Scripted.BatchGetItem(ctx, in, o...)
}

// noon is the time of the tests' calls.
var noon = libtest.Later

func day(d int) string { return noon.AddDate(0, 0, d).Format("2006-01-02") }

// change is an item of a shard map's history that takes effect after noon.
func change(after time.Duration, count int) string {
	return fmt.Sprintf("%d:%d", noon.Add(after).Unix(), count)
}

// TestPeriodsOfACount checks how a range of an hour after noon is divided at changes within it.
func TestPeriodsOfACount(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		history shard.History
		want    []period
	}{
		"no change":          {nil, []period{{at(0), at(60), 1}}},
		"before":             {shard.History{{At: at(-9), Count: 4}, {At: at(-1), Count: 2}}, []period{{at(0), at(60), 2}}},
		"at the begin":       {shard.History{{At: at(0), Count: 4}}, []period{{at(0), at(60), 4}}},
		"within":             {shard.History{{At: at(1), Count: 4}, {At: at(59), Count: 2}}, []period{{at(0), at(1), 1}, {at(1), at(59), 4}, {at(59), at(60), 2}}},
		"to the same count":  {shard.History{{At: at(-9), Count: 4}, {At: at(30), Count: 4}, {At: at(40), Count: 5}}, []period{{at(0), at(40), 4}, {at(40), at(60), 5}}},
		"at the end":         {shard.History{{At: at(60), Count: 4}}, []period{{at(0), at(60), 1}}},
		"after":              {shard.History{{At: at(61), Count: 4}}, []period{{at(0), at(60), 1}}},
		"one ms before both": {shard.History{{At: at(0).Add(1), Count: 4}, {At: at(60).Add(-1), Count: 2}}, []period{{at(0), at(0).Add(1), 1}, {at(0).Add(1), at(60).Add(-1), 4}, {at(60).Add(-1), at(60), 2}}},
	} {
		if got := periodsOf(c.history, at(0), at(60)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestQueriesOfEvents checks the queries and the results of a range over two days with a change of the shard count.
func TestQueriesOfEvents(t *testing.T) {
	c := &counting{counts: map[string]int32{
		"E#e#" + day(-1) + "#0": 1, "E#e#" + day(0) + "#0": 10, "E#e#" + day(-1) + "#1": 100, "E#e#" + day(0) + "#1": 1000, "E#e#" + day(-1) + "#2": 10_000,
	}}
	from, to := noon.Add(-24*time.Hour), noon.Add(time.Hour).Add(-time.Microsecond) // rounded up
	got, err := NewReader(c, "t", libtest.MapOf("E#e", "1:3", change(-24*time.Hour, 2), change(-12*time.Hour, 1))).Events(t.Context(), "e", from, to, noon)
	midnight := noon.Add(-12 * time.Hour)
	want := []Result{
		{Spread: shard.SpreadOf([]int64{1, 100}), From: from, To: midnight, Strays: 10_000},
		{Spread: shard.SpreadOf([]int64{10}), From: midnight, To: noon.Add(time.Hour), Strays: 1000},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Events = %+v, %v; want %+v", got, err, want)
	}
	bounds := map[string][2]time.Time{day(-1): {from, midnight}, day(0): {midnight, noon.Add(time.Hour)}}
	var wanted []string
	for d := range bounds {
		for n := range 3 {
			wanted = append(wanted, fmt.Sprint("E#e#", d, "#", n))
		}
	}
	var queried []string
	for _, in := range c.queries {
		pk := partition(in)
		queried = append(queried, pk)
		b := bounds[pk[4:14]]
		want := &dynamodb.QueryInput{
			TableName: aws.String("t"), Select: types.SelectCount, KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
			FilterExpression: aws.String("attribute_not_exists(expires_at) OR expires_at > :now"),
			ExpressionAttributeValues: dynamo.Item{
				":pk": dynamo.String(pk), ":low": dynamo.String(schema.EventBound(b[0])), ":high": dynamo.String(schema.EventBound(b[1])), ":now": dynamo.Number(noon.Unix()),
			},
		}
		if !reflect.DeepEqual(in, want) {
			t.Errorf("query %+v, want %+v", in, want)
		}
	}
	if slices.Sort(queried); !slices.Equal(queried, slices.Sorted(slices.Values(wanted))) {
		t.Errorf("queries of %q, want %q", queried, wanted)
	}
}

// TestRangesOfEvents checks the bounds of a range on both sides, and that an unknown count and a failed query are errors.
func TestRangesOfEvents(t *testing.T) {
	year := 366 * 24 * time.Hour
	clock := func(hours int) string { return noon.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		entity    string
		from, to  time.Duration // before noon
		forgotten time.Duration // changes before this time before noon were dropped; 0 for none
		fails     bool
		err       string
	}{
		"a millisecond":    {"e", time.Millisecond, 0, 0, false, ""},
		"empty":            {"e", time.Hour, time.Hour, 0, false, "misused: from " + clock(-1) + " is not before to " + clock(-1)},
		"the wrong way":    {"e", time.Hour, 2 * time.Hour, 0, false, "misused: from " + clock(-1) + " is not before to " + clock(-2)},
		"a year":           {"e", year, 0, 0, false, ""},
		"more than a year": {"e", year + time.Millisecond, 0, 0, false, "misused: from " + noon.Add(-year-time.Second).Format(time.RFC3339) + " to " + clock(0) + " are more than 366 days"},
		"known":            {"e", time.Hour, 0, time.Hour, false, ""},
		"forgotten":        {"e", time.Hour, 0, time.Hour - time.Second, false, "before " + noon.Add(-time.Hour+time.Second).Format(time.RFC3339)},
		"not queried":      {"e", time.Hour, 0, 0, true, errBroken.Error()},
		"of an empty name": {"", time.Hour, 0, 0, false, shard.ErrMisused.Error()},
	} {
		table := enginetest.NewMapTable(10, 0, 0)
		if c.forgotten > 0 {
			it := dynamo.Key(schema.MapKey("E#e"))
			it["shard_history"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String(change(-c.forgotten, 2))}}
			it["version"], it["forgotten"] = dynamo.Number(3), &types.AttributeValueMemberBOOL{Value: true}
			table.Put(it)
		}
		client := &counting{}
		if c.fails {
			client.fails = "E#e#" + day(0) + "#0"
		}
		list, err := NewReader(client, "t", shardmap.New(table, "m", shardmap.Options{})).Events(t.Context(), c.entity, noon.Add(-c.from), noon.Add(-c.to), noon)
		if (err != nil) != (c.err != "") || !strings.Contains(fmt.Sprint(err), c.err) || (err != nil) == (len(list) > 0) {
			t.Errorf("%s: %+v, %v; want an error: %q", name, list, err, c.err)
		}
	}
}

// TestQueriesOfCurrentItems checks the queries and results of sessions and of a board, after a decrease.
func TestQueriesOfCurrentItems(t *testing.T) {
	for name, c := range map[string]struct {
		key, partition string
		read           func(*Reader) (Result, error)
		want           dynamodb.QueryInput
		values         dynamo.Item // beside :shard
	}{
		"sessions": {"S#g", "S#g#", func(r *Reader) (Result, error) { return r.Sessions(t.Context(), "g", noon) }, dynamodb.QueryInput{
			IndexName: aws.String("by_group"), FilterExpression: aws.String("ends_at > :millis"),
			KeyConditionExpression: aws.String("session_shard = :shard AND begins_with(sk, :prefix)"),
		}, dynamo.Item{":prefix": dynamo.String("s#"), ":millis": dynamo.Number(noon.UnixMilli())}},
		"board": {"L#b", "L#b#all#", func(r *Reader) (Result, error) { return r.Board(t.Context(), "b", "all", noon) }, dynamodb.QueryInput{
			IndexName: aws.String("by_rank"), FilterExpression: aws.String("attribute_not_exists(expires_at) OR expires_at > :now"),
			KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
		}, dynamo.Item{":low": dynamo.String(schema.FirstRankKey), ":high": dynamo.String(schema.LastRankKey), ":now": dynamo.Number(noon.Unix())}},
	} {
		client := &counting{counts: map[string]int32{c.partition + "0": 1, c.partition + "1": 10, c.partition + "2": 100}}
		r := NewReader(client, "t", libtest.MapOf(c.key, "1:3", "2:1"))
		got, err := c.read(r)
		if want := (Result{Spread: shard.SpreadOf([]int64{1}), Strays: 110}); err != nil || !reflect.DeepEqual(got, want) || len(client.queries) != 3 {
			t.Errorf("%s: %+v, %v in %d queries; want %+v in 3", name, got, err, len(client.queries), want)
		}
		c.want.TableName, c.want.Select, c.want.ExpressionAttributeValues = aws.String("t"), types.SelectCount, c.values
		c.values[":shard"] = client.queries[0].ExpressionAttributeValues[":shard"]
		if !reflect.DeepEqual(client.queries[0], &c.want) {
			t.Errorf("%s: query %+v, want %+v", name, client.queries[0], c.want)
		}
		damaged, it := enginetest.NewMapTable(10, 0, 0), dynamo.Key(schema.MapKey(c.key))
		it["version"] = dynamo.String("x")
		damaged.Put(it)
		if _, err := c.read(NewReader(client, "t", shardmap.New(damaged, "m", shardmap.Options{}))); err == nil {
			t.Errorf("%s: a damaged entry of the shard map is no error", name)
		}
		client.fails = c.partition + "2"
		if got, err := c.read(r); !errors.Is(err, errBroken) || len(got.Counts) > 0 {
			t.Errorf("%s: %+v, %v with a failed query, want its error", name, got, err)
		}
	}
}

// TestWritesBetweenReads checks the writes between two reads of revs, 2 s apart. A rev that falls, or rises by more than
// 10,000 a second and 10,000, is of a write shard that was created again.
func TestWritesBetweenReads(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 70)
	for _, c := range []struct {
		before, after *big.Int
		want          int64
		unknown       bool
	}{
		{nil, nil, 0, false}, {nil, big.NewInt(5), 0, true}, {big.NewInt(5), nil, 0, true}, {big.NewInt(5), big.NewInt(5), 0, false}, {big.NewInt(5), big.NewInt(6), 1, false},
		{big.NewInt(5), big.NewInt(4), 0, true}, {big.NewInt(5), big.NewInt(30_005), 30_000, false}, {big.NewInt(5), big.NewInt(30_006), 0, true},
		{big.NewInt(0), huge, 0, true}, {huge, new(big.Int).Add(huge, big.NewInt(7)), 7, false},
	} {
		counts, unknown := writesBetween([]*big.Int{nil, c.before}, []*big.Int{nil, c.after}, 2*time.Second)
		if !slices.Equal(counts, []int64{0, c.want}) || !slices.Equal(unknown, []int{1}) && c.unknown || len(unknown) > 0 && !c.unknown {
			t.Errorf("from %v to %v: %v, unknown %v; want %d, unknown: %t", c.before, c.after, counts, unknown, c.want, c.unknown)
		}
	}
}

// revOf returns the item of a counter's write shard.
func revOf(n int, rev types.AttributeValue) dynamo.Item {
	it := dynamo.Key(schema.CounterKey("hits", n))
	it["rev"] = rev
	return it
}

// TestWatchedCounter checks what Counter returns after it watched three write shards, of which two count now, for 2 s. A read
// that fails, a damaged item, an ended context and a shard map that doesn't answer are errors.
func TestWatchedCounter(t *testing.T) {
	number := dynamo.Number
	for name, c := range map[string]struct {
		first, second []dynamo.Item
		unread        int
		within        time.Duration
		mapped        time.Duration // how long the shard map answers
		counts        []int64
		strays        int64
		unknown       []int
		err           string
	}{
		"written":         {[]dynamo.Item{revOf(0, number(7)), revOf(1, number(8)), revOf(2, number(9))}, []dynamo.Item{revOf(0, number(7)), revOf(1, number(11)), revOf(2, number(29_010))}, 0, time.Hour, time.Hour, []int64{0, 3}, 29_001, nil, ""},
		"created":         {nil, []dynamo.Item{revOf(1, number(11))}, 0, time.Hour, time.Hour, []int64{0, 0}, 0, []int{1}, ""},
		"damaged before":  {[]dynamo.Item{revOf(1, dynamo.String("x"))}, nil, 0, time.Hour, time.Hour, nil, 0, nil, "write shard 1: attribute rev"},
		"damaged after":   {nil, []dynamo.Item{revOf(1, dynamo.String("x"))}, 0, time.Hour, time.Hour, nil, 0, nil, "write shard 1: attribute rev"},
		"not read":        {nil, nil, 1, time.Hour, time.Hour, nil, 0, nil, errBroken.Error()},
		"not read again":  {nil, nil, 2, time.Hour, time.Hour, nil, 0, nil, errBroken.Error()},
		"ended":           {nil, nil, 0, time.Second, time.Hour, nil, 0, nil, context.DeadlineExceeded.Error()},
		"no map":          {nil, nil, 0, time.Hour, 0, nil, 0, nil, shard.ErrUnavailable.Error()},
		"no map any more": {nil, nil, 0, time.Hour, time.Second, nil, 0, nil, shard.ErrUnavailable.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			table := libtest.MapTable("C#hits", "1:3", "2:2")
			defer time.AfterFunc(c.mapped, func() { table.Answer(0, 24*time.Hour) }).Stop()
			synctest.Wait()
			client := &counting{Scripted: libtest.Scripted{Items: c.first}, later: c.second, unread: c.unread}
			begun := time.Now()
			got, err := NewReader(client, "t", shardmap.New(table, "m", shardmap.Options{})).Counter(ctx, "hits", 2*time.Second, noon)
			if (err != nil) != (c.err != "") || !strings.Contains(fmt.Sprint(err), c.err) || !slices.Equal(got.Counts, c.counts) || got.Strays != c.strays || !slices.Equal(got.Unknown, c.unknown) {
				t.Errorf("%s: %+v, %v; want %v, %d strays, unknown %v, an error: %q", name, got, err, c.counts, c.strays, c.unknown, c.err)
			}
			if name == "no map" && len(client.Read) > 0 {
				t.Errorf("%d reads of write shards without the map", len(client.Read))
			}
			if c.err == "" && (!got.From.Equal(noon) || !got.To.Equal(noon.Add(2*time.Second)) || time.Since(begun) != 2*time.Second || !*client.Read[1].RequestItems["t"].ConsistentRead) {
				t.Errorf("%s: from %v to %v after %v, want 2 s from noon", name, got.From, got.To, time.Since(begun))
			}
		})
	}
}
