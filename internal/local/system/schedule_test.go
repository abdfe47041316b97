package system

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// TestSightingsReachTheDetector: what a writer saw of a throttled key comes
// through the stream, is shown as saturated, and has the key grow. A writer goes on
// telling, and one of its sightings meets a window that is not over.
func TestSightingsReachTheDetector(t *testing.T) {
	s, stop := start(t, time.Second)
	defer stop()
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	sighting := func() {
		t.Helper()
		pk, sk := schema.SightingKey(schema.BaseKey{Type: schema.Counter, Name: "viral"}, time.Now(), "writer")
		_, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.names.Items, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
			schema.Offered: number("10000.0"), schema.Throttled: number("31"), schema.FailedUnits: number("0"), schema.Version: number("1"),
			schema.Shards: &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"0": number("31")}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	type key struct {
		Key, Status, Advice string
		Shards              int
	}
	var answer struct{ Keys []key }
	eventually(t, func() bool {
		sighting()
		get(t, s.URL()+"/v1/hot-keys", &answer)
		return len(answer.Keys) > 0 && answer.Keys[0].Shards > 1
	})
	got := answer.Keys[0]
	advised := strings.Contains(got.Advice, "refused writes") || strings.Contains(got.Advice, "was given 40 write shards") // in the next second
	if got.Key != "C#viral#0" || got.Status != "saturated" || got.Shards != 40 || !advised {
		t.Errorf("got %+v", got)
	}
}

type handlerFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// TestScheduleGoesOn: a task that fails is followed by another, until the end.
func TestScheduleGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	sc := schedule{payload: "p", every: time.Millisecond, handler: handlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		if runs++; runs == 3 {
			cancel()
		}
		return nil, errors.New("not today: " + string(payload))
	})}
	var logs strings.Builder
	sc.run(ctx, &System{options: Options{Log: slog.New(slog.NewTextHandler(&logs, nil))}})
	if runs != 3 || strings.Count(logs.String(), "not today: p") != 2 {
		t.Errorf("%d runs, logs:\n%s", runs, &logs)
	}
}
