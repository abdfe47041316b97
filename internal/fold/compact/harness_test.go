package compact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// rig is a table with a compactor on it, in a future of its own: the engine removes
// what has expired by its clock.
type rig struct {
	*Compactor
	db    *dynamodb.Client
	names schema.Names
	clock time.Time
	logs  strings.Builder
	on    hooks
}

// hooks are called before the calls that they are named after; an error is what the
// call returns.
type hooks struct {
	scan, query, transact, write func() error
	get                          func(table string) error
}

// hooked is the client with hooks.
type hooked struct {
	*dynamodb.Client
	on *hooks
}

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (h hooked) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if err := call(h.on.scan); err != nil {
		return nil, err
	}
	return h.Client.Scan(ctx, in, o...)
}

func (h hooked) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := call(h.on.query); err != nil {
		return nil, err
	}
	return h.Client.Query(ctx, in, o...)
}

func (h hooked) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := call(h.on.transact); err != nil {
		return nil, err
	}
	return h.Client.TransactWriteItems(ctx, in, o...)
}

func (h hooked) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := call(h.on.write); err != nil {
		return nil, err
	}
	return h.Client.UpdateItem(ctx, in, o...)
}

func (h hooked) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := call(h.on.write); err != nil {
		return nil, err
	}
	return h.Client.DeleteItem(ctx, in, o...)
}

func (h hooked) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if h.on.get != nil {
		if err := h.on.get(*in.TableName); err != nil {
			return nil, err
		}
	}
	return h.Client.GetItem(ctx, in, o...)
}

var errBroken = errors.New("out of order")

func broken() error { return errBroken }

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	db := enginetest.Client(t)
	r := &rig{db: db, names: enginetest.Tables(t, db), clock: hour.Add(100 * 24 * time.Hour)}
	options := Options{RollupsTable: r.names.Rollups, ItemsTable: r.names.Items, WriteUnits: 1_000_000}
	if change != nil {
		change(&options)
	}
	log := slog.New(slog.NewTextHandler(&r.logs, nil))
	r.Compactor = New(options, hooked{db, &r.on}, log, func() time.Time { return r.clock })
	return r
}

var hour = enginetest.Later

// ago is a time in the rig's past.
func (r *rig) ago(d time.Duration) time.Time { return r.clock.Add(-d) }

// must runs the task, which has no error.
func (r *rig) must(t rapid.TB) Answer {
	t.Helper()
	answer, err := r.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// want runs the task and compares its answer.
func (r *rig) want(t rapid.TB, want Answer) {
	t.Helper()
	if got := r.must(t); got != want {
		t.Fatalf("%+v, want %+v; logs: %s", got, want, &r.logs)
	}
}

func bucketAt(entity string, at time.Time) parts.Bucket {
	return parts.Bucket{Entity: entity, Width: shard.Hour, Start: at.Truncate(time.Hour)}
}

// part stores a stream shard's part with so many events; a zero asOf is not stored.
func (r *rig) part(t rapid.TB, b parts.Bucket, streamShard string, events int64, asOf time.Time) {
	t.Helper()
	r.keep(t, b, streamShard, measures.Part{Events: events}, asOf)
}

// keep stores a part; a zero asOf is not.
func (r *rig) keep(t rapid.TB, b parts.Bucket, streamShard string, p measures.Part, asOf time.Time) {
	t.Helper()
	pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, streamShard)
	stored := p.Attributes()
	stored["seq"] = dynamo.String(fmt.Sprintf("%040d", 7))
	if p.Events == 0 {
		stored["seq"] = dynamo.String(fmt.Sprintf("%040d", 7) + schema.EmptiedSuffix)
	}
	stored["pk"], stored["sk"] = dynamo.String(pk), dynamo.String(sk)
	if !asOf.IsZero() {
		stored["as_of"] = dynamo.Number(asOf.UnixMilli())
	}
	r.put(t, r.names.Rollups, stored)
}

func (r *rig) put(t rapid.TB, table string, stored item) {
	t.Helper()
	if _, err := r.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: stored}); err != nil {
		t.Fatal(err)
	}
}

// holding returns the events of the parts that have some, by stream shard.
func (r *rig) holding(t rapid.TB, b parts.Bucket) map[string]int64 {
	t.Helper()
	list, err := r.events.Read(context.Background(), b.Key())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, p := range list {
		if !p.Emptied() {
			found[p.StreamShard] = p.Value.Events
		}
	}
	return found
}

// summary stores a partial of a counter's summary, by attribute.
func (r *rig) summary(t rapid.TB, pk string, numbers map[string]int64) {
	t.Helper()
	stored := dynamo.Key(pk, "-")
	stored["v"] = dynamo.Number(1)
	for name, n := range numbers {
		stored[name] = dynamo.Number(n)
	}
	r.put(t, r.names.Rollups, stored)
}

// attributes returns the names of what a summary has, nil without one.
func (r *rig) attributes(t rapid.TB, pk string) map[string]string {
	t.Helper()
	out, err := r.db.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &r.names.Rollups, ConsistentRead: aws.Bool(true), Key: dynamo.Key(pk, "-"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]string
	for name := range out.Item {
		if strings.HasPrefix(name, "r") || strings.HasPrefix(name, "x") || name == "gone" {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = dynamo.Digits(out.Item, name)
		}
	}
	return found
}

// set changes a stored summary.
func (r *rig) set(t rapid.TB, pk, expression string, values item) {
	t.Helper()
	_, err := r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &r.names.Rollups, Key: dynamo.Key(pk, "-"), UpdateExpression: &expression, ExpressionAttributeValues: values,
	})
	if err != nil {
		t.Fatal(err)
	}
}

var emptyMap = measures.Part{}.Attributes()[schema.RollupMeasures]

// expire has a part expire. The engine removes what has expired by its own clock,
// which is behind the rig's.
func (r *rig) expire(t rapid.TB, pk, sk string, at time.Time) {
	t.Helper()
	_, err := r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &r.names.Rollups, Key: dynamo.Key(pk, sk), UpdateExpression: aws.String("SET expires_at = :at"),
		ExpressionAttributeValues: item{":at": dynamo.Number(at.Unix())},
	})
	if err != nil {
		t.Fatal(err)
	}
}
