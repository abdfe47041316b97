package libtest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Deployment has the tables of a test, a client and a shard map.
type Deployment struct {
	Client *dynamodb.Client
	Names  schema.Names
	Shards *shardmap.Map
}

// Deploy creates the tables of a test.
func Deploy(t *testing.T) *Deployment {
	t.Helper()
	client := enginetest.Client(t)
	names := enginetest.Tables(t, client)
	return &Deployment{client, names, shardmap.New(client, names.ShardMap, shardmap.Options{})}
}

// SetShards puts a key's item into the shard map, as the AWS blog's writers do.
func (d *Deployment) SetShards(t *testing.T, key string, history ...string) {
	t.Helper()
	enginetest.Put(t, d.Client, d.Names.ShardMap, mapItem(key, history))
}

// mapItem returns a key's item in the shard map, with changes as 1800000000:4.
func mapItem(key string, history []string) dynamo.Item {
	list := make([]types.AttributeValue, len(history))
	for i, h := range history {
		list[i] = dynamo.String(h)
	}
	item := dynamo.Key(schema.MapKey(key))
	item["shard_history"], item["version"] = &types.AttributeValueMemberL{Value: list}, dynamo.Number(1)
	return item
}

// Within returns a context that ends after a minute.
func Within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Item returns an item of the items table.
func (d *Deployment) Item(t *testing.T, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	return enginetest.Get(t, d.Client, d.Names.Items, pk, sk)
}

// Changer returns a changer with its own shard map.
func (d *Deployment) Changer(o shardmap.ChangerOptions) *shardmap.Changer {
	return Patient(shardmap.NewChanger(d.Client, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), o))
}

// Patient extends the time-out of a changer's changes for a busy machine, and allows the test's times for them.
func Patient(c *shardmap.Changer) *shardmap.Changer {
	set(c, "clock", func(clock *func() time.Time) { *clock = nil })
	set(c, "commitTime", func(d *time.Duration) { *d = 20 * time.Second })
	return c
}

// set changes an unexported field of a changer: no program may, so the package exports nothing for it. It panics if there
// is no such field of this type.
func set[T any](c *shardmap.Changer, field string, change func(*T)) {
	v := reflect.ValueOf(c).Elem().FieldByName(field)
	if v.Type() != reflect.TypeFor[T]() {
		panic("shardmap.Changer." + field + " is a " + v.Type().String())
	}
	change((*T)(unsafe.Pointer(v.UnsafeAddr())))
}

// Grow raises the shard count of a key from its current entry.
func Grow(ctx context.Context, c *shardmap.Changer, key string, count int, now time.Time) (shardmap.Entry, error) {
	seen, err := c.Read(ctx, key)
	if err != nil {
		return seen, err
	}
	return c.GrowFrom(ctx, seen, count, Note, now)
}

// Note is the note of the tests' changes.
var Note = shardmap.Note{By: "test", Why: "to see it"}

// Insist repeats call until it succeeds within a change's second, which a busy machine may exceed. For GrowFrom, Reset
// and Forget, ErrNoChange counts as success: an attempt that timed out may have made the change.
func Insist(t *testing.T, call func() error) {
	t.Helper()
	for range 20 {
		err := call()
		if err == nil || errors.Is(err, shardmap.ErrNoChange) {
			return
		}
		if !errors.Is(err, shard.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Fatal("20 attempts failed")
}

// Pin pins a key's shard count and returns when it takes effect.
func (d *Deployment) Pin(t *testing.T, key string, n int, now time.Time) time.Time {
	t.Helper()
	c := d.Changer(shardmap.ChangerOptions{})
	var entry shardmap.Entry
	Insist(t, func() (err error) { entry, err = c.Pin(Within(t), key, n, Note, now); return err })
	return entry.Effective()
}

// Later is enginetest.Later.
var Later = enginetest.Later
