package throttle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// TestUpdateMovesEntry checks an update that moves an index entry, for each form of update and
// each ReturnValues. It is charged a unit in both of the index's partitions.
func TestUpdateMovesEntry(t *testing.T) {
	b := newBench(t, roomy)
	expressions := map[string]values{
		"SET #g = :g":                     {":g": s("new")},
		"SET #g = #t":                     nil,
		"SET #g = if_not_exists(#x, :g)":  {":g": s("new")},
		"SET #g = :g, #r = #r + :n":       {":g": s("new"), ":n": n("1")},
		"SET #g = #t REMOVE #x ADD #r :n": {":n": n("1")},
	}
	for expression, v := range expressions {
		for _, returns := range append(types.ReturnValue("").Values(), "") {
			item := itemOf("a", "1", grouped("old", "1"))
			item["tag"] = s("new")
			if err := b.put(t, item); err != nil {
				t.Fatal(err)
			}
			b.Reset()
			in := updateOf("a", expression, v)
			in.ReturnValues = returns
			if _, err := b.db.UpdateItem(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			got := charged(b.Stats().Keys.Writes)
			delete(got, place{"", "a"})
			if diff := cmp.Diff(map[place]float64{{byGroup, "old"}: 1, {byGroup, "new"}: 1}, got); diff != "" {
				t.Errorf("%s, returning %q: %s", expression, returns, diff)
			}
		}
	}
}
