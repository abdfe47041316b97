package compact_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// all returns the world's summaries.
func (w *world) all(t rapid.TB) []item {
	return slices.DeleteFunc(enginetest.Scan(t, w.db, w.names.Rollups), func(it item) bool {
		return !strings.Contains(dynamo.Text(it, schema.PK), "#"+w.name+"#")
	})
}

// end deletes the world's summaries and the cursor.
func (w *world) end(t rapid.TB) {
	enginetest.Delete(t, w.db, w.names.Rollups, schema.CompactionPK, schema.SoleSK)
	for _, it := range w.all(t) {
		enginetest.Delete(t, w.db, w.names.Rollups, dynamo.Text(it, "pk"), dynamo.Text(it, "sk"))
	}
}

// check compares all summaries with the model. All records must be folded.
func (w *world) check(t rapid.TB) {
	value := new(big.Int)
	rollups := map[string]*measures.Part{}
	for _, it := range w.all(t) {
		if strings.HasPrefix(dynamo.Text(it, "pk"), "C#") {
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
		label, _, _ := strings.Cut(dynamo.Text(it, "sk"), "#")
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

// settled checks the summaries long after the last write: one fragment with events for each hour, and no
// tombstones.
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
		t.Fatalf("%d write shards and %d fragments are left, want %d and %d", sources, holding, len(w.values), len(w.events))
	}
}
