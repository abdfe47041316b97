package heat_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// genItem draws an item as it is decoded: keys of the table before those of an index.
func genItem(t *rapid.T) heat.Item {
	item := heat.Item{
		Start:       noon.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "start")) * time.Millisecond),
		Window:      time.Duration(rapid.Int64Range(1, 900_000).Draw(t, "window")) * time.Millisecond,
		StreamShard: rapid.SampledFrom([]string{"", "shardId-1", "shardId-2"}).Draw(t, "shard"),
		Part:        rapid.SampledFrom([]string{"", "100000000000000000000001"}).Draw(t, "part"),
		Last:        rapid.SampledFrom([]string{"", "100000000000000000000009"}).Draw(t, "last"),
		Records:     uint64(rapid.Uint32().Draw(t, "records")), Units: uint64(rapid.Uint32().Draw(t, "units")),
		Table: rapid.SampledFrom([]string{"", "orders"}).Draw(t, "table"),
		Limit: 1000, HotRate: 700, Rest: uint64(rapid.Uint16().Draw(t, "rest")), IndexRest: uint64(rapid.Uint16().Draw(t, "index rest")),
	}
	item.Keys = append(genKeys(t, item.Start, ""), genKeys(t, item.Start, "by_rank")...)
	item.Incomplete = rapid.Bool().Draw(t, "incomplete")
	return item
}

// genKeys draws keys of the table or of an index, the heaviest first.
func genKeys(t *rapid.T, start time.Time, index string) (keys []heat.Key) {
	weight := uint64(rapid.Uint32().Draw(t, "weight")) + 1000
	for _, key := range rapid.SliceOfNDistinct(rapid.StringN(1, 100, 2000), 0, 20, rapid.ID).Draw(t, "keys") {
		weight -= uint64(rapid.IntRange(1, 50).Draw(t, "less"))
		keys = append(keys, heat.Key{
			Index: index, Key: key, Units: weight, Err: uint64(rapid.Uint8().Draw(t, "err")), Peak: uint64(rapid.Uint16().Draw(t, "peak")), Writes: uint64(rapid.Uint8().Draw(t, "writes")),
			PeakAt: start.Truncate(time.Second).Add(time.Duration(rapid.Int64Range(-3, 900).Draw(t, "at")) * time.Second),
		})
	}
	return keys
}

// TestStoredForm checks that a stored item decodes to the same item.
func TestStoredForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genItem(t)
		got, err := heat.Parse(want.Stored(noon))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("item (-want +got):\n%s", diff)
		}
	})
}

// TestKeyForm pins the stored form of an item's primary key and expiry.
func TestKeyForm(t *testing.T) {
	item := heat.Item{Start: noon.Add(10 * time.Second), Window: 10 * time.Second, StreamShard: "shardId-1", Part: "77"}
	attributes := item.Stored(item.End().Add(time.Hour))
	if pk, sk := dynamo.Text(attributes, "pk"), dynamo.Text(attributes, "sk"); pk != "K#2026-01-05T12#0" || sk != "2026-01-05T12:00:10.000Z#shardId-1#77" {
		t.Errorf("primary key %s, %s", pk, sk)
	}
	if v := attributes["expires_at"].(*types.AttributeValueMemberN).Value; v != fmt.Sprint(noon.Unix()+3620) {
		t.Errorf("expires_at is %s", v)
	}
}

// TestPackedForm pins the stored form of an item's keys.
func TestPackedForm(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 3, IndexRest: 4, Keys: []heat.Key{
		{Key: "k", Units: 300, Err: 1, Writes: 7, Peak: 2, PeakAt: noon.Add(time.Second)}, {Index: "i", Key: "k", Units: 5, PeakAt: noon},
	}}
	keys := "\x03\x00\x01k\xac\x02\x01\x07\x02\x02" + "\x02\x01i\x01k\x05\x00\x00\x00"
	if packed := item.Stored(noon)["windows"].(*types.AttributeValueMemberB).Value; !strings.HasSuffix(string(packed), keys) {
		t.Errorf("windows %q, want them to end with %q", packed, keys)
	}
}

// TestPartitions checks the partition keys of an hour, and of a day of blocks.
func TestPartitions(t *testing.T) {
	for s, want := range map[heat.Series]string{heat.Prompt: "K#2026-01-05T12#0", heat.Late: "K#late#2026-01-05T12#0", heat.Minutes: "H#1m#2026-01-05T12", heat.Blocks: "H#10m#2026-01-05"} {
		list, end := s.Partitions(noon.Add(time.Second))
		if each := map[heat.Series]int{heat.Prompt: heat.Salts, heat.Late: 2, heat.Minutes: 1, heat.Blocks: 1}[s]; len(list) != each || list[0] != want || !end.Equal(end.Truncate(time.Hour)) || !end.After(noon) {
			t.Errorf("%v up to %v, want %s", list, end, want)
		}
	}
}

// TestTrim checks that a stored item has bounded numbers of keys of the table and of an index, and a bounded size. It
// keeps the heaviest keys; the rest bounds the units of the others.
func TestTrim(t *testing.T) {
	for _, c := range []struct {
		index                string
		keys, keyBytes, want int
	}{
		{"", heat.MaxKeys, 20, heat.MaxKeys}, {"", heat.MaxKeys + 1, 20, heat.MaxKeys}, {"", 100, 2048, 47},
		{"i", heat.MaxIndexKeys + 1, 20, heat.MaxIndexKeys}, {"i", 100, 2000, 24},
	} {
		item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 2, IndexRest: 2}
		if c.index != "" {
			item.Keys = []heat.Key{{Key: "k", Units: 1, PeakAt: noon}}
		}
		others := len(item.Keys)
		for i := range c.keys {
			item.Keys = append(item.Keys, heat.Key{Index: c.index, Key: fmt.Sprintf("%0*d", c.keyBytes, i), Units: uint64(i), Err: 3, PeakAt: noon})
		}
		rests := map[string]uint64{"": 2, "i": 2}
		if c.want < c.keys {
			rests[c.index] = uint64(c.keys-c.want-1) + 3
		}
		attributes := item.Stored(noon)
		got, err := heat.Parse(attributes)
		if err != nil || len(got.Keys) != others+c.want || got.Keys[others].Units != uint64(c.keys-1) || got.Rest != rests[""] || got.IndexRest != rests["i"] {
			t.Errorf("%d keys of index %q: %v, %d kept, rests %d and %d; want %d, %v", c.keys, c.index, err, len(got.Keys)-others, got.Rest, got.IndexRest, c.want, rests)
		}
		if size := len(attributes["windows"].(*types.AttributeValueMemberB).Value); size > 100_000 {
			t.Errorf("%d keys of index %q take %d bytes, want at most 100,000", c.keys, c.index, size)
		}
	}
}

// TestParseDamaged checks that a damaged attribute, and windows that are cut anywhere, are errors that name the item.
func TestParseDamaged(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Keys: []heat.Key{{Key: "k", Units: 300, PeakAt: noon}}}
	packed := item.Stored(noon)["windows"].(*types.AttributeValueMemberB).Value
	number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	null := &types.AttributeValueMemberNULL{Value: true}
	noLength, noLimit := item, item
	noLength.Window, noLimit.Limit = 0, 0
	type damage struct {
		name  string
		value types.AttributeValue
		want  string
	}
	cases := []damage{
		{"v", number("4"), "version 4"},
		{"v", nil, "attribute v"},
		{"windows", number("1"), "attribute windows"},
		{"windows", null, "attribute windows"},
		{"windows", nil, "attribute windows"},
		{"windows", noLength.Stored(noon)["windows"], "no length"},
		{"windows", noLimit.Stored(noon)["windows"], "no limit"},
		{"windows", &types.AttributeValueMemberB{Value: append(packed[:len(packed)-9:len(packed)-9], "\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k"...)}, "ends too soon"},
		{"windows", &types.AttributeValueMemberB{Value: append(packed[:len(packed)-9:len(packed)-9], 0, 1, 'i', 0, 1, 1, 1)}, "no name"},
		{"windows", &types.AttributeValueMemberB{Value: append(packed[:len(packed)-9:len(packed)-9], 8, 1, 1, 1)}, "number is unknown"},
	}
	for n := range len(packed) {
		cases = append(cases, damage{"windows", &types.AttributeValueMemberB{Value: packed[:n]}, "attribute windows"})
	}
	for _, c := range cases {
		attributes := item.Stored(noon)
		attributes[c.name] = c.value
		_, err := heat.Parse(attributes)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "2026-01-05T12:00:00.000Z") {
			t.Errorf("%s = %v: error %v, want one with %q and the sort key", c.name, c.value, err, c.want)
		}
	}
	if _, err := heat.Parse(nil); err == nil {
		t.Error("an item without attributes parses")
	}
}

// FuzzParse checks that Parse neither panics on damaged windows nor returns more keys than their bytes can have.
func FuzzParse(f *testing.F) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Keys: []heat.Key{{Key: "k", Units: 300, PeakAt: noon}}}
	f.Add(item.Stored(noon)["windows"].(*types.AttributeValueMemberB).Value)
	f.Add([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		attributes := item.Stored(noon)
		attributes["windows"] = &types.AttributeValueMemberB{Value: packed}
		got, err := heat.Parse(attributes)
		if err == nil && len(got.Keys) > len(packed)/2 {
			t.Errorf("%d keys in %d bytes", len(got.Keys), len(packed))
		}
	})
}

// key returns a key with an error, whose peak is some seconds after noon.
func key(name string, units, spread, peak uint64, second int) heat.Key {
	return heat.Key{Key: name, Units: units, Err: spread, Peak: peak, PeakAt: noon.Add(time.Duration(second) * time.Second)}
}

// TestMerge checks the rows of several windows on two stream shards, for items in any order.
func TestMerge(t *testing.T) {
	window := func(n int, stream, part string, rest uint64, keys ...heat.Key) heat.Item {
		return heat.Item{
			Start: noon.Add(time.Duration(n) * 10 * time.Second), Window: 10 * time.Second,
			StreamShard: stream, Part: part, Limit: 200, HotRate: 100, Rest: rest, Keys: keys,
		}
	}
	items := []heat.Item{
		window(0, "1", "", 5, key("a", 100, 2, 30, 3), key("b", 50, 0, 9, 0)),
		window(0, "2", "", 7, key("a", 200, 1, 25, 4)),
		window(0, "2", "99", 0, key("a", 10, 0, 6, 3)),
		window(1, "1", "", 0, key("a", 40, 0, 8, 11)),
		window(2, "1", "", 0, key("hot", 1900, 0, 190, 21), key("sum", 600, 0, 60, 20)),
		window(2, "2", "", 0, key("sum", 500, 0, 50, 22)),
		window(5, "1", "", 0, key("b", 50, 0, 7, 50)),
	}
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	want := []heat.KeyHeat{
		{Key: "hot", WriteUnitsPerSecond: 190, Limit: 200, Peak: 190, PeakAt: at(21), FirstSeen: at(20), LastSeen: at(30), Status: heat.Saturated, Verdicts: heat.Verdicts{Worst: heat.Saturated, Now: heat.Saturated, HotUntil: at(30)}, Start: at(20), Window: 10 * time.Second},
		{Key: "sum", WriteUnitsPerSecond: 110, Limit: 200, Peak: 60, PeakAt: at(20), FirstSeen: at(20), LastSeen: at(30), Status: heat.Hot, Verdicts: heat.Verdicts{Worst: heat.Hot, Now: heat.Hot, HotUntil: at(30)}, Start: at(20), Window: 10 * time.Second},
		{Key: "a", WriteUnitsPerSecond: 31, Error: 0.3, Limit: 200, Peak: 36, PeakAt: at(3), FirstSeen: noon, LastSeen: at(20), Start: noon, Window: 10 * time.Second},
		{Key: "b", WriteUnitsPerSecond: 5, Error: 0.7, Limit: 200, Peak: 9, PeakAt: at(0), FirstSeen: noon, LastSeen: at(60), Start: noon, Window: 10 * time.Second},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		if diff := cmp.Diff(want, heat.Merge(items)); diff != "" {
			t.Fatalf("rows (-want +got):\n%s", diff)
		}
		rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	if rows := heat.Merge([]heat.Item{ // a key of the table, and one of an index with the same text
		{Start: noon, Window: time.Second, Limit: 9, HotRate: 6, Rest: 2, IndexRest: 4, Keys: []heat.Key{{Key: "k", Units: 7, PeakAt: noon}}},
		{Start: noon, Window: time.Second, Limit: 9, HotRate: 6, Rest: 1, IndexRest: 5, Keys: []heat.Key{{Index: "i", Key: "k", Units: 5, PeakAt: noon}}},
	}); len(rows) != 2 || rows[0].Index != "" || rows[0].Status != heat.Hot || rows[0].Error != 1 || rows[1].Index != "i" || rows[1].Status != heat.Normal || rows[1].Error != 4 {
		t.Errorf("a text that is a key of the table and of an index has the rows %+v, want two", rows)
	}
	if rows := heat.Merge(nil); len(rows) != 0 {
		t.Errorf("no items merge to %v, want no rows", rows)
	}
}

// TestAdvice checks how a row's advice ends, for the kinds of keys and the statuses, with 4 write shards.
func TestAdvice(t *testing.T) {
	cases := []struct {
		key    string // of an index after its name and a space
		rate   float64
		status heat.Status
		want   string
	}{
		{"C#a#0", 12.9, heat.Normal, "1% of the partition limit. No action needed."},
		{"C#a#0", 1000, heat.Saturated, "Using at least 100% of a partition's 1,000 WCU/s, so writes may be throttled. Increase from 4 to 16 write shards."},
		{"by_rank L#a#all#3", 0, heat.Saturated, "Increase from 4 to 8 write shards."},
		{"by_rank L#a#all#3", 700, heat.Hot, "Increase from 4 to 23 write shards."},
		{"by_rank L#a#3", 700, heat.Hot, "Split it across 6 partition keys of the index by_rank."},
		{"L#a#all#3", 700, heat.Hot, "Split it across 6 partition keys."}, // the item of a player called 3
		{"C#a#0", 1000, heat.Hot, "Using at least 100% of a partition's 1,000 WCU/s. Increase from 4 to 16 write shards."},
		{"E#a#2026-01-05#0", 1000, heat.Hot, "Increase from 4 to 32 write shards."},
		{"by_group S#a#3", 300, heat.Hot, "Increase from 4 to 10 write shards."},
		{"S#a#3", 700, heat.Hot, "Split it across 6 partition keys."}, // a session with the id 3
		{"L#a#all#player", 700, heat.Hot, "Split it across 6 partition keys."},
		{"of another table", 700, heat.Hot, "Split it across 6 partition keys."},
	}
	for _, c := range cases {
		index, key, ok := strings.Cut(c.key, " ")
		if !ok || index != "by_rank" && index != "by_group" {
			index, key = "", c.key
		}
		row := heat.KeyHeat{Index: index, Key: key, WriteUnitsPerSecond: c.rate, Limit: 1000, Status: c.status, Verdicts: heat.Verdicts{Worst: c.status, Now: c.status, Current: c.rate}}
		if got := advice(row, 4); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s at %v: %q, want %q", c.key, c.rate, got, c.want)
		}
	}
}

// TestMergerIsBounded checks that a Merger with a bound keeps the hottest rows, and at most twice as many as its bound.
func TestMergerIsBounded(t *testing.T) {
	m := heat.Merger{Max: 5}
	for i := range 100 {
		item := heat.Item{Start: noon.Add(time.Duration(i) * time.Second), Window: time.Second, Limit: 1000, HotRate: 700}
		item.Keys = []heat.Key{{Key: fmt.Sprint("k", i), Units: uint64(500 - i), PeakAt: noon}}
		m.Add([]heat.Item{item})
	}
	rows := m.Rows()
	if len(rows) > 10 || rows[0].Key != "k0" || rows[4].Key != "k4" {
		t.Errorf("%d rows, want at most 10 that begin with k0 to k4: %+v", len(rows), rows)
	}
}
