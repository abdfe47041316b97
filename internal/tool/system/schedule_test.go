package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestHotKeysReachDetector checks that writes to the table reach the detector through the stream. The detector reports
// the hot key as saturated, and adds write shards.
func TestHotKeysReachDetector(t *testing.T) {
	s, stop := start(t)
	defer stop()
	large := strings.Repeat("x", 390_000) // 381 units a write
	type key struct {
		Key, Status, Advice string
		Shards              int
	}
	var answer struct{ Keys []key }
	n := 0
	eventually(t, func() bool {
		for range 3 { // more than 1,000 units, usually in one window of a second
			n++
			_, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.names.Items, Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "C#viral#0"}, "sk": &types.AttributeValueMemberS{Value: fmt.Sprint("x", n%4)},
				"data": &types.AttributeValueMemberS{Value: large}, "n": &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
			}})
			require.NoError(t, err)
		}
		get(t, s.URL()+"/v1/hot-keys", &answer)
		return len(answer.Keys) > 0 && answer.Keys[0].Shards > 1 && answer.Keys[0].Status == "saturated"
	})
	got := answer.Keys[0] // its window may be from before the newest change of N
	if got.Key != "C#viral#0" || !strings.Contains(got.Advice, "so writes may be throttled") && !strings.HasPrefix(got.Advice, "Resharded to ") {
		t.Errorf("hottest key %+v", got)
	}
}

type handlerFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// TestScheduleContinues checks that a task runs again after it failed, and that each failure is logged.
func TestScheduleContinues(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	sc := schedule{payload: "p", every: time.Millisecond, handler: handlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		if runs++; runs == 3 {
			cancel()
		}
		return nil, errors.New("not today: " + string(payload))
	})}
	var logs strings.Builder
	sc.run(ctx, slog.New(slog.NewTextHandler(&logs, nil)))
	if runs != 3 || strings.Count(logs.String(), "not today: p") != 2 {
		t.Errorf("%d runs, want 3 with 2 logged failures:\n%s", runs, &logs)
	}
}
