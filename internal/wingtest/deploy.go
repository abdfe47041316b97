package wingtest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/busy"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Deployment is the tables of one test, and what reads and writes them.
type Deployment struct {
	Client *dynamodb.Client
	Names  schema.Names
	Shards *shardmap.Map
}

// Deploy makes the tables of a test.
func Deploy(t *testing.T) *Deployment {
	t.Helper()
	client := enginetest.Client(t)
	names := enginetest.Tables(t, client)
	return &Deployment{client, names, shardmap.New(client, names.ShardMap, shardmap.Options{})}
}

// setShards writes a key's item into the shard map, as the AWS blog's writers do.
func (d *Deployment) SetShards(t *testing.T, key string, history ...string) {
	t.Helper()
	list := make([]types.AttributeValue, len(history))
	for i, h := range history {
		list[i] = dynamo.String(h)
	}
	pk, sk := schema.MapKey(key)
	_, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &d.Names.ShardMap,
		Item: map[string]types.AttributeValue{
			"pk":            dynamo.String(pk),
			"sk":            dynamo.String(sk),
			"shard_history": &types.AttributeValueMemberL{Value: list},
			"version":       dynamo.Decimal("1"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Within is a context of a minute.
func Within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Item reads an item of the items table.
func (d *Deployment) Item(t *testing.T, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := d.Client.GetItem(Within(t), &dynamodb.GetItemInput{TableName: &d.Names.Items, Key: map[string]types.AttributeValue{
		"pk": dynamo.String(pk), "sk": dynamo.String(sk),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// limited returns a client whose calls a limiter counts and limits.
func (d *Deployment) Limited(t *testing.T, o limiter.Options) (*dynamodb.Client, *limiter.Limiter) {
	t.Helper()
	o.Base = local.Transport()
	limits, err := limiter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return dynamodb.New(d.Client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }), limits
}

// Changer returns one with a view of its own.
func (d *Deployment) Changer(o shardmap.ChangerOptions) *shardmap.Changer {
	return Patient(shardmap.NewChanger(d.Client, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), o))
}

// Patient gives changes the time that they may need on a machine that is busy.
func Patient(c *shardmap.Changer) *shardmap.Changer {
	busy.SetCommit(c, 20*time.Second)
	return c
}

// Note is what tests note of their changes.
var Note = shardmap.Note{By: "test", Why: "to see it"}

// Insist calls until a machine that is busy has done it within a change's second. ErrNoChange
// is for Grow, GrowFrom, Reset and Forget: an attempt that ran out of time may have done it.
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
	t.Fatal("it was not done in 20 attempts")
}

// pin sets a key's shard count, and returns when that comes into force.
func (d *Deployment) Pin(t *testing.T, key string, n int, now time.Time) time.Time {
	t.Helper()
	c := d.Changer(shardmap.ChangerOptions{})
	var entry shardmap.Entry
	Insist(t, func() (err error) { entry, err = c.Pin(Within(t), key, n, Note, now); return err })
	return entry.Effective()
}

// Later is enginetest.Later.
var Later = enginetest.Later

// foreign puts an item that has only its key.
func (d *Deployment) Foreign(t *testing.T, pk, sk string) {
	t.Helper()
	item := map[string]types.AttributeValue{"pk": dynamo.String(pk), "sk": dynamo.String(sk)}
	if _, err := d.Client.PutItem(Within(t), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: item}); err != nil {
		t.Fatal(err)
	}
}

// Queries counts a client's queries.
type Queries struct {
	*dynamodb.Client
	Made atomic.Int64
}

func (q *Queries) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := q.Client.Query(ctx, in, o...)
	if err == nil { // one that failed is made again
		q.Made.Add(1)
	}
	return out, err
}
