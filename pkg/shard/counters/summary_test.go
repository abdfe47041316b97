package counters_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// TestSummariesOfOneNameTwice: each place has the value, and one of its own.
func TestSummariesOfOneNameTwice(t *testing.T) {
	d := deploy(t)
	for pk, value := range map[string]string{"C#a#0": "5", "C#b#0": "7"} {
		_, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.Names.Rollups, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: "-"},
			"x0":    &types.AttributeValueMemberN{Value: value},
			"as_of": &types.AttributeValueMemberN{Value: "1000"},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	now := libtest.Later
	source := counters.NewSummaries(d.Client, d.Names.Rollups, d.Shards)
	for name, read := range map[string]func(names []string) ([]counters.Summary, error){
		"summaries": func(names []string) ([]counters.Summary, error) { return source.Read(libtest.Within(t), names, now) },
		"cached": func(names []string) ([]counters.Summary, error) {
			return counters.NewCachedSummaries(source, time.Second).Read(libtest.Within(t), names, now)
		},
	} {
		list, err := read([]string{"a", "b", "a", "never", "a", "never"})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{5, 7, 5, 0, 5, 0} {
			if s := list[i]; s.Value.Int64() != want || s.Shards != 1 || !s.ReadAt.Equal(now.Round(0)) || s.AsOf.IsZero() != (want == 0) {
				t.Errorf("%s, place %d: %+v, want %d", name, i, s, want)
			}
		}
		if list[0].Value.Add(list[0].Value, big.NewInt(1)); list[2].Value.Int64() != 5 {
			t.Errorf("%s: two places share a value", name)
		}
	}
}
