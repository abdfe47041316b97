package events_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// slowly is a client of empty tables. It counts its queries, which take the time each.
type slowly struct {
	events.ReaderClient
	shardmap.Client
	each time.Duration
	made atomic.Int64
}

func (s *slowly) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	time.Sleep(s.each)
	s.made.Add(1)
	return &dynamodb.QueryOutput{}, nil
}

func (*slowly) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// TestLongStreamRefreshesShardMap checks that the last page of a stream looks up the shard map at its own time, and not at
// the stream's begin.
func TestLongStreamRefreshesShardMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := &slowly{}
		shards := shardmap.New(counts, "shard-map", shardmap.Options{})
		reader := events.NewReader(&slowly{each: 500 * time.Millisecond}, "items", shards)
		begin := time.Now()
		days := events.Range{Entity: "e", From: begin, To: begin.AddDate(0, 0, events.MaxQueries)} // two pages, of which the last has one day
		for ev, err := range reader.All(t.Context(), days, begin) {
			t.Fatal(ev, err)
		}
		if took := time.Since(begin); took < 30*time.Second {
			t.Fatalf("the stream took %v, want at least 30 s", took)
		}
		polls := counts.made.Load()
		if _, err := shards.Lookup(t.Context(), "E#e", time.Now()); err != nil || counts.made.Load() != polls {
			t.Errorf("a lookup after the stream polls the map, %v; want a view from the stream's end", err)
		}
	})
}
