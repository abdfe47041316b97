package table

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func text(v types.AttributeValue) string { return place.SortText(v) }

// TestQueriesOfRanges checks the requests that read a range of one partition of two.
func TestQueriesOfRanges(t *testing.T) {
	low, high := dynamo.String("b"), dynamo.String("c")
	for _, c := range []struct {
		span   Span
		prefix string
		layout Layout
		want   string // condition, bounds, limit
	}{
		{Span{}, "", RandomSuffix{}, "#pk = :pk   0"},
		{Span{Low: low}, "", RandomSuffix{}, "#pk = :pk AND #sk >= :low b  0"},
		{Span{High: high, Limit: 8}, "n#", RandomSuffix{}, "#pk = :pk AND #sk <= :high  n#c 12"},
		{Span{Low: low, High: high}, "n#", RandomSuffix{}, "#pk = :pk AND #sk BETWEEN :low AND :high n#b n#c 0"},
		{Span{Low: dynamo.Number(5), Desc: true}, "n#", CalculatedSuffix{By: "id"}, "#pk = :pk AND #sk >= :low 5  0"},
		{Span{Consistent: true}, "", CalculatedSuffix{By: "sort"}, "#pk = :pk   0"},
	} {
		table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: c.layout, Shards: Fixed(2)}
		g := &gather{tableCall: table.startCall(noon), span: c.span}
		g.drop = func(Item) bool { return true }
		s := g.stream(partition{pk: "acme#1", prefix: c.prefix}, 1, 2)
		in := s.Input
		names, values := in.ExpressionAttributeNames, in.ExpressionAttributeValues
		got := fmt.Sprint(*in.KeyConditionExpression, " ", text(values[":low"]), " ", text(values[":high"]), " ", aws.ToInt32(in.Limit))
		if got != c.want || !s.Drop(nil) || text(values[":pk"]) != "acme#1" || *in.ScanIndexForward == c.span.Desc || *in.ConsistentRead != c.span.Consistent ||
			names["#pk"] != "name" || (names["#sk"] == "sort") != strings.Contains(got, "#sk") {
			t.Errorf("%+v: %q, names %v; want %q", c, got, names, c.want)
		}
	}
}

// TestCursors checks which items lie before the cursor after an item, in both directions, also items with its sort key.
func TestCursors(t *testing.T) {
	byID, bySort := CalculatedSuffix{By: "id"}, CalculatedSuffix{}
	item := func(sort, tie string, n int) place.Position {
		return place.Position{Sort: dynamo.String(sort), Tie: tie, Shard: n}
	}
	for _, c := range []struct {
		layout Layout
		last   place.Position // of the page
		it     place.Position
		passed [2]bool // ascending, descending
	}{
		{RandomSuffix{}, item("b", "", 2), item("a", "", 9), [2]bool{true, false}}, {RandomSuffix{}, item("b", "", 2), item("c", "", 0), [2]bool{false, true}},
		{RandomSuffix{}, item("b", "", 2), item("b", "", 1), [2]bool{true, false}}, {RandomSuffix{}, item("b", "", 2), item("b", "", 2), [2]bool{true, true}},
		{RandomSuffix{}, item("b", "", 2), item("b", "", 3), [2]bool{false, true}},
		{byID, item("b", "Sx", 2), item("b", "Sx", 0), [2]bool{true, true}}, {byID, item("b", "Sx", 2), item("b", "Sx", 9), [2]bool{true, true}},
		{byID, item("b", "Sx", 2), item("b", "Sy", 2), [2]bool{false, true}}, {byID, item("b", "Sx", 2), item("b", "Sw", 2), [2]bool{true, false}},
		{bySort, item("b", "", 2), item("b", "", 9), [2]bool{true, true}}, {bySort, item("b", "", 2), item("c", "", 0), [2]bool{false, true}},
		{bySort, item("b", "", 2), item("a", "", 0), [2]bool{true, false}},
		{bySort, item("b", "Sx", 2), item("b", "", 9), [2]bool{true, true}}, // the cursor of a Table with By
	} {
		table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: c.layout, Shards: Fixed(10), Client: nil}
		for i, desc := range []bool{false, true} {
			g := &gather{tableCall: table.startCall(noon), name: "acme", span: Span{Desc: desc}}
			after, err := place.ParsePosition(g.cursor(c.last).String())
			require.NoError(t, err)
			if g.after = &after; g.passed(c.it) != c.passed[i] {
				t.Errorf("%T, after %+v, descending %t: %+v has passed: %t", c.layout, c.last, desc, c.it, !c.passed[i])
			}
			g.narrow()
			if (g.span.Low != nil) == desc || (g.span.High != nil) != desc {
				t.Errorf("after %+v, descending %t: the span %+v", c.last, desc, g.span)
			}
			for _, bound := range []string{"a", "c"} {
				g.span.Low, g.span.High = dynamo.String(bound), dynamo.String(bound)
				g.narrow()
				if low, high := text(g.span.Low), text(g.span.High); !desc && (low != max(bound, "b") || high != bound) || desc && (high != min(bound, "b") || low != bound) {
					t.Errorf("after %+v, descending %t: %s to %s", c.last, desc, low, high)
				}
			}
		}
	}
	if cursorPrefix("a", false) == cursorPrefix("a", true) || cursorPrefix("a", false) == cursorPrefix("b", false) {
		t.Error("cursors of other ranges are equal")
	}
}

// TestBucketsOfRanges checks the partitions of a range over time buckets, and the positions before their first items.
func TestBucketsOfRanges(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 5, hour, minute, 0, 0, time.UTC) }
	keys := map[string]Layout{"acme#%s#1": TimeBuckets{Bucket: shard.Hour}, "1#%s": HybridBuckets{Bucket: shard.Hour}}
	for _, c := range []struct {
		from, to time.Time
		want     string
	}{
		{at(12, 0), at(12, 0), ""}, {at(12, 0), at(13, 0), "12"}, {at(12, 59), at(13, 1), "12 13"}, {at(11, 30), at(14, 0), "11 12 13"}, {at(14, 0), at(11, 0), ""},
	} {
		for form, layout := range keys {
			for _, desc := range []bool{false, true} {
				table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: layout, Shards: Fixed(1), First: 1}
				span := During("", c.from, c.to)
				span.Desc = desc
				windows, err := span.windows(shard.Hour, "")
				require.NoError(t, err)
				for w := range windows {
					if want := min(c.to.Add(-1).UnixNano(), w.end.UnixNano()); w.from.UnixNano() != max(c.from.UnixNano(), w.start.UnixNano()) || w.to.UnixNano() != want {
						t.Errorf("%v to %v: a window from %v to %v of %s", c.from, c.to, w.from, w.to, w.label)
					}
				}
				entry, err := Fixed(1).Lookup(t.Context(), "acme", noon)
				require.NoError(t, err)
				groups, err := layout.partitions(table, entry, "acme", span)
				require.NoError(t, err)
				var got []string
				for parts := range groups {
					hour := ""
					for _, p := range parts {
						hour = strings.TrimPrefix(text(p.before.Sort), "2026-01-05T")[:2]
						if desc { // the edge is the bucket's end
							end, err := time.Parse("15", hour)
							require.NoError(t, err)
							hour = end.Add(-time.Hour).Format("15")
						}
						if want := fmt.Sprintf(form, "2026-01-05T"+hour); p.pk != want || (p.before.Shard < 0) == desc || (p.before.Tie == place.LastTie) != desc {
							t.Errorf("%T: %+v, want %s", layout, p, want)
						}
					}
					got = append(got, hour)
				}
				if desc {
					slices.Reverse(got)
				}
				if !span.empty() && strings.Join(got, " ") != c.want || span.empty() != (c.want == "") {
					t.Errorf("%T, %v to %v, descending %t: buckets %v, want %s", layout, c.from, c.to, desc, got, c.want)
				}
			}
		}
	}
	grown := shardmap.Entry{Max: 4, History: shard.History{{At: at(11, 0), Count: 1}, {At: at(12, 30), Count: 4}, {At: at(12, 31), Count: 1}}}
	groups, err := TimeBuckets{Bucket: shard.Hour}.partitions(&Table{}, grown, "acme", During("", at(12, 0), at(13, 0)))
	require.NoError(t, err)
	for parts := range groups {
		if len(parts) != 4 {
			t.Errorf("%d write shards of an hour with four for a minute", len(parts))
		}
	}
	if _, err := (HybridBuckets{Bucket: shard.Hour}).partitions(&Table{}, shardmap.Entry{}, "a#b", During("", noon, noon.Add(1))); err == nil {
		t.Error("a name with the separator is valid")
	}
	for _, s := range []Span{{}, {Low: dynamo.String("2026-01-05")}, {Low: dynamo.String("x"), High: dynamo.String("2026-01-05")}} {
		if _, err := (TimeBuckets{Bucket: shard.Hour}).partitions(&Table{}, shardmap.Entry{}, "acme", s); err == nil {
			t.Errorf("%+v is valid", s)
		}
	}
}

// TestUnsettledRanges checks for which ranges a change of the count may have moved new items.
func TestUnsettledRanges(t *testing.T) {
	buckets := TimeBuckets{Bucket: shard.Hour}
	ending := func(d time.Duration) Span { return During("", noon.Add(-time.Hour), noon.Add(d)) }
	for i, c := range []struct {
		counts Counts
		layout Layout
		span   Span
		want   bool
	}{
		{changes{}, RandomSuffix{}, Span{}, true}, {Fixed(2), RandomSuffix{}, Span{}, false}, {changes{}, CalculatedSuffix{}, Span{}, false},
		{changes{}, buckets, Span{}, true}, {changes{}, buckets, ending(-shardmap.Unsettled), false}, {changes{}, buckets, ending(time.Second - shardmap.Unsettled), true}, {Fixed(2), buckets, Span{}, false},
	} {
		table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: c.layout, Shards: c.counts}
		if got := (&gather{tableCall: table.startCall(noon), span: c.span}).isUnsettled(); got != c.want {
			t.Errorf("row %d: %t", i, got)
		}
	}
}

// changes are counts that may change.
type changes struct{}

func (changes) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{History: shard.History{{Count: 2}}}, nil
}

// paged is a client of a partition whose pages have one item. It records the queries' limits, and fails the one with a number.
type paged struct {
	Client
	limits []int32
	fails  int
}

func (p *paged) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	p.limits = append(p.limits, aws.ToInt32(in.Limit))
	n := len(p.limits)
	if n == p.fails {
		return nil, &types.ResourceNotFoundException{}
	}
	out := &dynamodb.QueryOutput{Items: []Item{{"name": dynamo.String("acme#0"), "sort": dynamo.String(fmt.Sprint(n))}}}
	if n < 4 {
		out.LastEvaluatedKey = out.Items[0]
	}
	return out, nil
}

// TestQueriesOfLargeRanges checks the limits of the queries for ranges of four pages, and what a failed one leaves.
func TestQueriesOfLargeRanges(t *testing.T) {
	for _, c := range []struct {
		limit, fails int
		layout       Layout
		items        int
		limits       string
	}{
		{0, 0, RandomSuffix{}, 4, "[0 0 0 0]"}, {0, 0, CalculatedSuffix{}, 4, "[0 0 0 0]"},
		{2, 0, RandomSuffix{}, 2, "[5 6 5]"}, {2, 0, CalculatedSuffix{}, 2, "[5 6 5]"},
		{0, 1, RandomSuffix{}, 0, "[0]"}, {0, 3, RandomSuffix{}, 1, "[0 0 0]"}, {0, 4, CalculatedSuffix{}, 2, "[0 0 0 0]"},
	} {
		client := &paged{fails: c.fails}
		table := &Table{Client: client, Name: "t", PartitionKey: "name", SortKey: "sort", Layout: c.layout, Shards: Fixed(1)}
		n, failed := 0, 0
		for it, err := range table.Query(t.Context(), "acme", Span{Limit: c.limit}, noon) {
			if n++; err != nil {
				failed++
			} else if text(it["sort"]) != fmt.Sprint(n) || text(it["name"]) != "acme" {
				t.Errorf("%+v: item %d is %v", c, n, it)
			}
		}
		if got := fmt.Sprint(client.limits); n-failed != c.items || failed != min(c.fails, 1) || got != c.limits {
			t.Errorf("%+v: %d items and %d errors by queries with the limits %s", c, n-failed, failed, got)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	defer cancel()
	table := &Table{Client: &paged{}, Name: "t", PartitionKey: "name", SortKey: "sort", Layout: RandomSuffix{}, Shards: Fixed(1)}
	for _, err := range table.Query(canceled, "acme", Span{}, noon) {
		if (err != nil) != (canceled.Err() != nil) {
			t.Errorf("%v after the context ended with %v", err, canceled.Err())
		}
		cancel()
	}
}

// TestBatchesDouble checks that a range combines one group, then two, four and so on, but no more than are read in parallel.
func TestBatchesDouble(t *testing.T) {
	for _, c := range []struct {
		groups, size int
		want         []int
	}{{0, 1, nil}, {1, 3, []int{3}}, {6, 1, []int{1, 2, 3}}, {7, 2, []int{2, 4, 8}}, {3, dynamo.MaxParallel, []int{dynamo.MaxParallel, dynamo.MaxParallel, dynamo.MaxParallel}}} {
		var groups iter.Seq[[]partition] = func(yield func([]partition) bool) {
			for range c.groups {
				if !yield(make([]partition, c.size)) {
					return
				}
			}
		}
		var got []int
		for batch := range batches(groups) {
			got = append(got, len(batch))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d groups of %d: %v, want %v", c.groups, c.size, got, c.want)
		}
		for range batches(groups) {
			break
		}
	}
}

// TestAheadComesFromMap checks that wrapped counts allow times as far ahead as the map's options do.
func TestAheadComesFromMap(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{0: shardmap.MaxAhead, 4 * time.Second: 4 * time.Second, time.Hour: shardmap.MaxEventAhead} {
		view := shardmap.New(nil, "m", shardmap.Options{EventAhead: ahead})
		changer := shardmap.NewChanger(nil, view, shardmap.ChangerOptions{})
		for _, counts := range []Counts{view, changer, AtLeast{2, changer}} {
			if got := maxAhead(counts); got != want {
				t.Errorf("%v, %T: %v ahead, want %v", ahead, counts, got, want)
			}
		}
	}
}
