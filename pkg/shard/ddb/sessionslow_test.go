package ddb

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard"
)

// slowSessions takes its time for an update, and makes it.
type slowSessions struct {
	SessionClient
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
		"the count changed meanwhile":  {2 * time.Second, ErrUnavailable},
		"the count changes afterwards": {8 * time.Second, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeMap(10, 0, 0)
			if c.changes > 0 {
				e := Entry{Key: "S#g", Max: 5, Version: 1, History: shard.History{{At: time.Now().Add(c.changes), Count: 5}}}
				f.put(e.attributes())
			}
			client := &slowSessions{takes: 4600 * time.Millisecond}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := NewSessions(client, "t", NewMap(f, "m"), nil).Put(ctx, Lease{Group: "g", ID: "z", TTL: time.Minute}, time.Now())
			if client.puts != 1 || !errors.Is(err, c.kind) || errors.Is(err, ErrThrottled) {
				t.Errorf("%s: %d puts, %v", name, client.puts, err)
			}
		})
	}
}
