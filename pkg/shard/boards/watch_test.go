package boards_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// crowded is a client whose index throttles one partition key.
type crowded struct {
	*dynamodb.Client
	full string
}

func (c *crowded) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if place, ok := in.Item["board_shard"].(*types.AttributeValueMemberS); ok && place.Value == c.full {
		return nil, libtest.Hot(libtest.IndexHot)
	}
	return c.Client.PutItem(ctx, in, o...)
}

// acting is an observer that calls act after each attempt that was not accepted.
type acting struct {
	*libtest.Observed
	act func()
}

func (w *acting) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	w.Observed.ObserveAttempt(ctx, a)
	if a.Outcome != shard.Accepted {
		w.act()
	}
}

// TestRetriesUseTheNewCount checks that the retry of a throttled write uses a count that grew after the first attempt.
func TestRetriesUseTheNewCount(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	grown := sync.OnceFunc(func() {
		if _, err := libtest.Grow(t.Context(), d.Changer(shardmap.ChangerOptions{}), "L#b", 50, libtest.Later); err != nil {
			t.Error(err)
		}
	})
	w := &acting{libtest.NewObserved(), grown}
	boards := d.boards(&crowded{d.Client, schema.BoardShardKey("b", "all", 0)}, w)
	submit(t, boards, "b", libtest.Later, "ann 1", "bob 1")
	for _, player := range []string{"ann", "bob"} {
		want := schema.BoardShardKey("b", "all", shard.Calculated(player, 50))
		if got := d.Item(t, "L#b#all#"+player, "b")["board_shard"].(*types.AttributeValueMemberS).Value; got != want {
			t.Errorf("%s is in %s, want %s", player, got, want)
		}
	}
	if !slices.Equal(w.Refused(), []string{"L#b 0"}) || w.ByKey["L#b"] != 1 {
		t.Errorf("observed %v and requests %v, want L#b 0 throttled and one request", w.Shown(), w.ByKey)
	}
}
