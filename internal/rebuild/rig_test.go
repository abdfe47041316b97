package rebuild_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

const retention = 30 * 24 * time.Hour

type item = dynamo.Item

// rig has the tables of a deployment, and writers for them.
type rig struct {
	db      *dynamodb.Client
	names   schema.Names
	shards  *shardmap.Map
	counter *counters.Writer
	events  *events.Writer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	shards := shardmap.New(db, names.ShardMap, shardmap.Options{})
	return &rig{
		db: db, names: names, shards: shards,
		counter: counters.NewWriter(db, names.Items, shards, counters.Options{}),
		events:  events.NewWriter(db, names.Events, shards, events.Options{Retention: retention}),
	}
}

// checker returns a checker that waits up to 20 s for folds in flight. set, which may be nil, sets
// other options.
func (r *rig) checker(set func(*rebuild.Options)) *rebuild.Checker { return r.checkerOver(r.db, set) }

// checkerOver is checker with another client.
func (r *rig) checkerOver(client *dynamodb.Client, set func(*rebuild.Options)) *rebuild.Checker {
	o := rebuild.Options{Names: r.names, Rollups: true, EventRetention: retention, Wait: 20 * time.Second, Poll: 100 * time.Millisecond}
	if set != nil {
		set(&o)
	}
	return rebuild.New(o, client)
}

func repairing(o *rebuild.Options)   { o.Repair = true }
func lowering(o *rebuild.Options)    { o.Repair, o.Lower = true, true }
func hasty(o *rebuild.Options)       { o.Wait = 0 }
func hastyRepair(o *rebuild.Options) { o.Repair, o.Wait = true, 0 }

// run runs the aggregator until the test ends or stop is called, which drains the streams.
func (r *rig) run(t testing.TB, change func(*eventsource.MappingOptions)) (stop func()) {
	t.Helper()
	return enginetest.Deliver(t, r.db, r.names, "aggregator", r.aggregator(t, r.db), change)
}

func (r *rig) aggregator(t testing.TB, client fold.Client) *fold.Handler {
	t.Helper()
	h, err := fold.New(fold.Settings{
		RollupsTable: r.names.Rollups, ItemsTable: r.names.Items, ShardMapTable: r.names.ShardMap, Rollups: true, BoardRecheck: time.Second,
	}, client, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return h
}

// fold folds all records of the streams.
func (r *rig) fold(t testing.TB) { t.Helper(); r.run(t, nil)() }

func (r *rig) add(t testing.TB, counter string, delta int64) {
	t.Helper()
	require.NoError(t, r.counter.Add(context.Background(), counter, delta, time.Now()))
}

// put writes n events, one a second. Their field t counts up from 1.
func (r *rig) put(t testing.TB, entity string, from time.Time, n int) {
	t.Helper()
	var list []events.Event
	for i := range n {
		list = append(list, events.Event{
			Entity: entity, ID: fmt.Sprint("id", i), Time: from.Add(time.Duration(i) * time.Second),
			Data: item{"t": num(i + 1), "text": dynamo.String("x")},
		})
	}
	for _, err := range r.events.Put(context.Background(), list, time.Now()) {
		require.NoError(t, err)
	}
}

// hour returns the start of an hour of yesterday.
func hour() time.Time { return enginetest.Yesterday() }

func num[N int | int64](n N) types.AttributeValue { return dynamo.Number(int64(n)) }

// update changes an item. In the expression, #name stands for the attribute name.
func (r *rig) update(t testing.TB, table, pk, sk, expression string, values item) {
	t.Helper()
	enginetest.Update(t, r.db, table, pk, sk, expression, values)
}

func (r *rig) delete(t testing.TB, table, pk, sk string) {
	t.Helper()
	enginetest.Delete(t, r.db, table, pk, sk)
}

func (r *rig) putItem(t testing.TB, table, pk, sk string, it item) {
	t.Helper()
	maps.Copy(it, dynamo.Key(pk, sk))
	enginetest.Put(t, r.db, table, it)
}

func (r *rig) get(t testing.TB, table, pk, sk string) item {
	t.Helper()
	return enginetest.Get(t, r.db, table, pk, sk)
}

func counterTarget(name string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Counter, Name: name}}
}

func hourTarget(entity string, at time.Time) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Event, Name: entity}, Hour: at}
}

// check checks a target and returns the findings.
func check(t testing.TB, a *rebuild.Checker, target schema.Target) []rebuild.Finding {
	t.Helper()
	result, err := a.Check(context.Background(), target)
	require.NoError(t, err)
	return result.Findings
}

// all checks all targets.
func all(t testing.TB, a *rebuild.Checker) *rebuild.Report {
	t.Helper()
	report, err := a.Run(context.Background(), a.All(rebuild.Range{}), nil)
	require.NoError(t, err)
	return report
}

// addFragments adds n fragments of one event each to an hour's rollup.
func (r *rig) addFragments(t testing.TB, entity string, hour time.Time, n int) {
	t.Helper()
	for i := range n {
		pk, sk := schema.RollupKey(entity, hour, fmt.Sprintf("gone-%03d", i))
		r.putItem(t, r.names.Rollups, pk, sk, item{
			"v": num(1), "events": num(1), "seq": dynamo.String(fmt.Sprintf("%040d", i)), "measures": &types.AttributeValueMemberM{},
		})
	}
}
