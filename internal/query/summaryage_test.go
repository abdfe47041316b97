package query

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestSummaryAge: with an age a summary is read once for all who ask within it, also
// that there is none; its as_of stays. Without one everyone sees the newest.
func TestSummaryAge(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "7", time.Hour: "0"} {
		client := enginetest.Client(t)
		names := enginetest.Tables(t, client)
		service, err := New(Settings{
			ItemsTable: names.Items, EventsTable: names.Events, RollupsTable: names.Rollups, ShardMapTable: names.ShardMap,
			Deadline: 5 * time.Second, DefaultSpan: 720 * time.Hour, SummaryAge: age,
		}, client, collect.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, client: client, names: names, handler: httpapi.New(slog.New(slog.DiscardHandler), Routes(service))}
		var first, second counterAnswerJSON
		r.get("/v1/counters?name=x", &first)
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &names.Items, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "C#x#0"}, "sk": &types.AttributeValueMemberS{Value: schema.SoleSK},
			"value": &types.AttributeValueMemberN{Value: "7"}, "rev": &types.AttributeValueMemberN{Value: "7"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // as_of is to the millisecond
		r.get("/v1/counters?name=x", &second)
		if second.Value.String() != want || (age > 0) != (second.AsOf == first.AsOf) {
			t.Errorf("age %v: %+v after %+v, want %s", age, second, first, want)
		}
	}
}

func TestSummaryAgeIsBounded(t *testing.T) {
	for _, age := range []time.Duration{-1, time.Hour + 1} {
		_, err := New(Settings{Deadline: time.Second, DefaultSpan: time.Hour, SummaryAge: age}, nil, collect.Sources{})
		if err == nil || !strings.Contains(err.Error(), "HOTSHARD_SUMMARY_AGE") {
			t.Errorf("%v: %v", age, err)
		}
	}
}
