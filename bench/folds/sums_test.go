package folds

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/fold/measures"
)

// TestModelOfRollups checks the model's sums of known events, that a right rollup equals them, and that wrong ones
// don't.
func TestModelOfRollups(t *testing.T) {
	t.Parallel()
	want := rollups{}.of("any")
	for _, n := range []string{"21.5", "-0.1", "3E+1", "9007199254740993"} { // the last is too wide
		want.add("e#1", item{"data": &types.AttributeValueMemberM{Value: item{
			"t": dynamo.Decimal(n), "s": dynamo.String("7"),
		}}})
	}
	want.add(dayPrefix+"e", item{"data": &types.AttributeValueMemberM{Value: item{"n": dynamo.Decimal("7")}}})
	if got := fmt.Sprint(*want); got != "{5 1 false map[t:{3/1 257/5 -1/10 30/1}]}" {
		t.Errorf("the model's sums are %s", got)
	}
	of := func(numbers ...string) string {
		have := rollups{}.of("any")
		for _, n := range numbers {
			part := measures.Part{}.Clone()
			part.Add(map[string]string{"t": n})
			have.merge(part)
		}
		have.Events++
		return fmt.Sprint(*have)
	}
	if got := of("21.5", "-0.1", "3E+1", "9007199254740993"); got != fmt.Sprint(*want) {
		t.Errorf("the rollup is %s, want %v", got, *want)
	}
	for _, wrong := range [][]string{{"21.5", "-0.1", "3E+1"}, {"21.5", "-0.2", "30.1", "9007199254740993"}, {"21.4", "0", "30", "9007199254740993"}} {
		if got := of(wrong...); got == fmt.Sprint(*want) {
			t.Errorf("the rollup of %v equals the model", wrong)
		}
	}
}
