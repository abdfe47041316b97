package throttle_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestUpdateMovesEntry checks that an update that moves an index entry costs a unit in both of the index's
// partitions, for each form of update and each ReturnValues.
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
			require.NoError(t, b.put(t, item))
			b.Reset()
			in := updateOf("a", expression, v)
			in.ReturnValues = returns
			require.NoError(t, b.update(t, in))
			got := charged(b.Stats().Keys.Writes)
			delete(got, place{"", "a"})
			wantEqual(t, fmt.Sprintf("%s, returning %q", expression, returns), map[place]float64{{byGroup, "old"}: 1, {byGroup, "new"}: 1}, got)
		}
	}
}
