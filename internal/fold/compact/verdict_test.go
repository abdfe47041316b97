package compact_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
)

// all returns the world's summaries.
func (w *world) all(t rapid.TB) (list []item) {
	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{
		TableName: &w.names.Rollups, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("contains(pk, :name)"),
		ExpressionAttributeValues: item{":name": dynamo.String("#" + w.name + "#")},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.Items...)
	}
	return list
}

// end leaves the tables to the next world as they were.
func (w *world) end(t rapid.TB) {
	w.remove(t, w.names.Rollups, schema.CompactionPK, schema.SoleSK)
	for _, it := range w.all(t) {
		w.remove(t, w.names.Rollups, it["pk"].(*types.AttributeValueMemberS).Value, it["sk"].(*types.AttributeValueMemberS).Value)
	}
}

// check compares all summaries with the model, once all records are folded.
func (w *world) check(t rapid.TB) {
	value := new(big.Int)
	rollups := map[string]*measures.Part{}
	for _, it := range w.all(t) {
		if strings.HasPrefix(it["pk"].(*types.AttributeValueMemberS).Value, "C#") {
			for name, v := range it {
				if schema.IsValueAttr(name) {
					n, _ := new(big.Int).SetString(v.(*types.AttributeValueMemberN).Value, 10)
					value.Add(value, n)
				}
			}
			continue
		}
		part, err := measures.Parse(it)
		if err != nil {
			t.Fatal(err)
		}
		label, _, _ := strings.Cut(it["sk"].(*types.AttributeValueMemberS).Value, "#")
		if rollups[label] == nil {
			rollups[label] = &measures.Part{}
		}
		rollups[label].Merge(part)
	}
	var want int64
	for _, n := range w.values {
		want += n
	}
	if value.Int64() != want {
		t.Fatalf("the counter is %v, want %d", value, want)
	}
	for label, events := range w.events {
		got := rollups[label]
		if got == nil || got.Events != events || got.Measures["t"].N != events || got.Measures["t"].Sum.String() != fmt.Sprint(w.sums[label]) {
			t.Fatalf("%s: %+v, want %d events, sum %d", label, got, events, w.sums[label])
		}
	}
	if len(rollups) > len(w.events) {
		t.Fatalf("%d rollups, want %d", len(rollups), len(w.events))
	}
}

// settled checks what is left long after the last write: one part with something an
// hour, and no tombstones.
func (w *world) settled(t rapid.TB) {
	sources, holding := 0, 0
	for _, it := range w.all(t) {
		for name := range it {
			if schema.IsValueAttr(name) {
				sources++
			}
		}
		if events, ok := it["events"].(*types.AttributeValueMemberN); ok && events.Value != "0" {
			holding++
		}
		if it["gone"] != nil {
			t.Fatalf("tombstones are left: %v", it)
		}
	}
	if sources != len(w.values) || holding != len(w.events) {
		t.Fatalf("%d write shards and %d parts are left, want %d and %d", sources, holding, len(w.values), len(w.events))
	}
}
