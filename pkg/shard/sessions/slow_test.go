package sessions

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// slowSessions takes its time for an update, and makes it.
type slowSessions struct {
	Client
	takes time.Duration
	puts  int
}

func (s *slowSessions) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	time.Sleep(s.takes)
	s.puts++
	return &dynamodb.UpdateItemOutput{Attributes: maps.Clone(in.Key)}, nil
}

// TestASlowPut that was made is one, and no refusal: of kind ErrUnavailable if the
// session may belong elsewhere by then and there is no time left to look, else a success.
func TestASlowPut(t *testing.T) {
	for name, c := range map[string]struct {
		changes time.Duration // after the call's begin; 0 for never
		kind    error
	}{
		"nothing changed":              {0, nil},
		"the count changed meanwhile":  {2 * time.Second, shard.ErrUnavailable},
		"the count changes afterwards": {8 * time.Second, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := mapfake.New(10, 0, 0)
			if c.changes > 0 {
				changer := shardmap.NewChanger(f, shardmap.New(f, "m", shardmap.Options{}), shardmap.ChangerOptions{})
				if _, err := changer.Grow(t.Context(), "S#g", 5, shardmap.Note{}, time.Now().Add(c.changes-shardmap.LeadTime)); err != nil {
					t.Fatal(err)
				}
			}
			client := &slowSessions{takes: 4600 * time.Millisecond}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := New(client, "t", shardmap.New(f, "m", shardmap.Options{}), Options{}).Put(ctx, Lease{Group: "g", ID: "z", TTL: time.Minute}, time.Now())
			if client.puts != 1 || !errors.Is(err, c.kind) || errors.Is(err, shard.ErrThrottled) {
				t.Errorf("%s: %d puts, %v", name, client.puts, err)
			}
		})
	}
}
