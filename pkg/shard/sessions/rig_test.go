package sessions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var later = libtest.Later

type item = map[string]types.AttributeValue

// deployment is a libtest.Deployment with the helpers of this package.
type deployment struct{ *libtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{libtest.Deploy(t)}
}

func (d *deployment) view() *shardmap.Map {
	return shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
}

// process returns a store with its own view of the shard map.
func (d *deployment) process(client sessions.Client, o shard.Observer) *sessions.Store {
	return sessions.New(client, d.Names.Items, d.view(), sessions.Options{Observer: o})
}

// pin pins a group's shard count.
func (d *deployment) pin(t *testing.T, group string, n int, now time.Time) {
	d.Pin(t, "S#"+group, n, now)
}

func data(s string) item { return item{"text": libtest.Str(s)} }

// insist repeats a call while it returns ErrUnavailable or ErrThrottled, up to 30 times.
func insist(t testing.TB, call func(context.Context) error) (err error) {
	for range 30 {
		if err = call(libtest.Within(t)); !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled) {
			return err
		}
	}
	return err
}

// once makes a keyed call with one write.
func (d *deployment) once(ctx context.Context, client once.Client, o shard.Observer, key string, now time.Time,
	action func(context.Context) (shardmap.Write, error),
) error {
	call := once.Call{Key: key, Digest: []byte("d"), Answer: []byte("a")}
	_, err := once.New(client, d.Names.Items, once.Options{Observer: o}).Do(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, error) {
		one, err := action(ctx)
		return []shardmap.Write{one}, err
	})
	return err
}
