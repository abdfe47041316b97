package table

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
		keys   bool
		layout Layout
		want   string // condition, bounds, limit, projection
	}{
		{Span{}, "", false, RandomSuffix{}, "#pk = :pk   0 "},
		{Span{Low: low}, "", false, RandomSuffix{}, "#pk = :pk AND #sk >= :low b  0 "},
		{Span{High: high, Limit: 8}, "n#", false, RandomSuffix{}, "#pk = :pk AND #sk <= :high  n#c 12 "},
		{Span{Low: low, High: high}, "n#", true, RandomSuffix{}, "#pk = :pk AND #sk BETWEEN :low AND :high n#b n#c 0 #sk"},
		{Span{Low: dynamo.Number(5), Desc: true}, "n#", true, CalculatedSuffix{By: "id"}, "#pk = :pk AND #sk >= :low 5  0 #sk, #by"},
		{Span{Consistent: true}, "", true, CalculatedSuffix{By: "sort"}, "#pk = :pk   0 #sk"},
	} {
		table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: c.layout, Shards: Fixed(2)}
		g := &gather{raw: table.raw(noon), span: c.span, keys: c.keys}
		g.drop = func(Item) bool { return true }
		s := g.stream(partition{pk: "acme#1", prefix: c.prefix}, 2, 1)
		in := s.Input
		names, values := in.ExpressionAttributeNames, in.ExpressionAttributeValues
		got := fmt.Sprint(*in.KeyConditionExpression, " ", text(values[":low"]), " ", text(values[":high"]), " ", aws.ToInt32(in.Limit), " ", aws.ToString(in.ProjectionExpression))
		if got != c.want || !s.Drop(nil) || text(values[":pk"]) != "acme#1" || *in.ScanIndexForward == c.span.Desc || *in.ConsistentRead != c.span.Consistent ||
			names["#pk"] != "name" || (names["#sk"] == "sort") != strings.Contains(got, "#sk") || (names["#by"] == "id") != strings.Contains(got, "#by") {
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
			g := &gather{raw: table.raw(noon), name: "acme", span: Span{Desc: desc}}
			after, err := place.ParsePosition(g.cursor(c.last).String())
			require.NoError(t, err)
			if g.after = &after; g.passed(c.it) != c.passed[i] {
				t.Errorf("%T, after %+v, descending %t: %+v has passed: %t", c.layout, c.last, desc, c.it, !c.passed[i])
			}
			g.narrow()
			if (g.span.Low != nil) == desc || (g.span.High != nil) != desc {
				t.Errorf("after %+v, descending %t: the span %+v", c.last, desc, g.span)
			}
		}
	}
	if cursorOf("a", false) == cursorOf("a", true) || cursorOf("a", false) == cursorOf("b", false) {
		t.Error("cursors of other ranges are equal")
	}
}

// TestBucketsOfRanges checks the partitions of a range over time buckets, and the positions before their first items.
func TestBucketsOfRanges(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 5, hour, minute, 0, 0, time.UTC) }
	keys := map[string]Layout{"acme#%s#0": TimeBuckets{Bucket: shard.Hour}, "0#%s": HybridBuckets{Bucket: shard.Hour}}
	for _, c := range []struct {
		from, to time.Time
		want     string
	}{
		{at(12, 0), at(12, 0), ""}, {at(12, 0), at(13, 0), "12"}, {at(12, 59), at(13, 1), "12 13"}, {at(11, 30), at(14, 0), "11 12 13"}, {at(14, 0), at(11, 0), ""},
	} {
		for form, layout := range keys {
			for _, desc := range []bool{false, true} {
				table := &Table{Name: "t", PartitionKey: "name", SortKey: "sort", Layout: layout, Shards: Fixed(1)}
				span := During("", c.from, c.to)
				span.Desc = desc
				entry, err := Fixed(1).Lookup(t.Context(), "acme", noon)
				require.NoError(t, err)
				groups, err := layout.partitions(table, entry, "acme", span)
				require.NoError(t, err)
				var got []string
				for parts := range groups {
					hour := ""
					for _, p := range parts {
						hour = strings.TrimPrefix(text(p.edge.Sort), "2026-01-05T")[:2]
						if desc { // the edge is the bucket's end
							end, err := time.Parse("15", hour)
							require.NoError(t, err)
							hour = end.Add(-time.Hour).Format("15")
						}
						if want := fmt.Sprintf(form, "2026-01-05T"+hour); p.pk != want || (p.edge.Shard < 0) == desc || (p.edge.Tie == place.LastTie) != desc {
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
	if _, err := (HybridBuckets{Bucket: shard.Hour}).partitions(&Table{}, shardmap.Entry{}, "a#b", During("", noon, noon.Add(1))); err == nil {
		t.Error("a name with the separator is valid")
	}
	for _, s := range []Span{{}, {Low: dynamo.String("2026-01-05")}, {Low: dynamo.String("x"), High: dynamo.String("2026-01-05")}} {
		if _, err := cutSpan(shard.Hour, "", 0, s); err == nil {
			t.Errorf("%+v is valid", s)
		}
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
