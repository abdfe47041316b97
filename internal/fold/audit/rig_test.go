package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

const retention = 30 * 24 * time.Hour

// rig is a deployment's tables, with writers.
type rig struct {
	db      *dynamodb.Client
	names   schema.Names
	shards  *shardmap.Map
	counter *counters.Writer
	events  *events.Writer
	rules   fold.Rules
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	shards := shardmap.New(db, names.ShardMap, shardmap.Options{})
	return &rig{
		db: db, names: names, shards: shards, rules: rules(t, `[{"every":"1h"}]`),
		counter: counters.NewWriter(db, names.Items, shards, counters.Options{}),
		events:  events.NewWriter(db, names.Events, shards, events.Options{Retention: retention}),
	}
}

func rules(t testing.TB, text string) fold.Rules {
	t.Helper()
	r, err := fold.ParseRules(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// auditor makes one that waits for up to 20 s, and takes other options from set.
func (r *rig) auditor(t testing.TB, set func(*audit.Options)) *audit.Auditor {
	t.Helper()
	o := audit.Options{Names: r.names, Rules: r.rules, EventRetention: retention, Wait: 20 * time.Second, Poll: 100 * time.Millisecond}
	if set != nil {
		set(&o)
	}
	return r.auditorOver(t, r.db, o)
}

func (r *rig) auditorOver(t testing.TB, client audit.Client, o audit.Options) *audit.Auditor {
	t.Helper()
	return audit.New(o, client)
}

func repairing(o *audit.Options) { o.Repair = true }
func gone(o *audit.Options)      { o.Repair, o.Gone = true, true }
func hasty(o *audit.Options)     { o.Wait = 0 }
func hastyRepair(o *audit.Options) {
	o.Repair, o.Wait = true, 0
}

// run starts the aggregator on enginetest.StreamShards, over which the items of a
// partition key are spread, until the test ends or stop is called. stop drains.
func (r *rig) run(t testing.TB, mark func(*eventsource.MappingOptions)) (stop func()) {
	t.Helper()
	return enginetest.Deliver(t, r.db, r.names, "aggregator", r.aggregator(t, r.db), mark)
}

func (r *rig) aggregator(t testing.TB, client fold.Client) *fold.Handler {
	t.Helper()
	h, err := fold.New(fold.Settings{
		RollupsTable: r.names.Rollups, ItemsTable: r.names.Items, ShardMapTable: r.names.ShardMap, Rules: r.rules, BoardRecheck: time.Second,
	}, client, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fold brings all summaries up to date, and lets the aggregator end.
func (r *rig) fold(t testing.TB) { t.Helper(); r.run(t, nil)() }

func (r *rig) add(t testing.TB, counter string, delta int64) {
	t.Helper()
	if err := r.counter.Add(context.Background(), counter, delta, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// put writes n events, one each second from a time on, with temperatures from 1 on.
func (r *rig) put(t testing.TB, entity string, from time.Time, n int) {
	t.Helper()
	var list []events.Event
	for i := range n {
		list = append(list, events.Event{
			Entity: entity, ID: fmt.Sprint("id", i), Time: from.Add(time.Duration(i) * time.Second),
			Data: map[string]types.AttributeValue{"t": num(i + 1), "text": str("x")},
		})
	}
	for _, err := range r.events.Put(context.Background(), list, time.Now()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hour is a full one of yesterday.
func hour() time.Time { return enginetest.Yesterday() }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num[N int | int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

func keyOf(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str(pk), "sk": str(sk)}
}

// update changes an item behind everyone's back.
func (r *rig) update(t testing.TB, table, pk, sk, expression string, values map[string]types.AttributeValue) {
	t.Helper()
	in := &dynamodb.UpdateItemInput{TableName: &table, Key: keyOf(pk, sk), UpdateExpression: &expression}
	for name, attribute := range map[string]string{"#sum": "sum", "#d": "data", "#value": "value", "#at": "at"} {
		if strings.Contains(expression, name) {
			in.ExpressionAttributeNames = map[string]string{name: attribute}
		}
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	if _, err := r.db.UpdateItem(context.Background(), in); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) delete(t testing.TB, table, pk, sk string) {
	t.Helper()
	if _, err := r.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &table, Key: keyOf(pk, sk)}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) get(t testing.TB, table, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := r.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &table, Key: keyOf(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func counterTarget(name string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: kind.Counter, Name: name}}
}

func hourTarget(entity string, at time.Time) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: kind.Event, Name: entity}, Bucket: shard.Hour, Start: at}
}

// check audits a target and returns what was found.
func check(t testing.TB, a *audit.Auditor, target schema.Target) []audit.Finding {
	t.Helper()
	result, err := a.Check(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	return result.Findings
}

// all audits everything.
func all(t testing.TB, a *audit.Auditor) *audit.Report {
	t.Helper()
	report, err := a.Run(context.Background(), a.All(audit.Range{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// wantFound audits without repair, with it, and again, and waits for folds for so
// long.
func (r *rig) wantFound(t *testing.T, wait time.Duration, target schema.Target, state audit.State, summary, items string) {
	t.Helper()
	set := func(repair bool) func(*audit.Options) {
		return func(o *audit.Options) { o.Repair, o.Fewer, o.Wait = repair, repair, wait }
	}
	found := check(t, r.auditor(t, set(false)), target)
	if len(found) != 1 || found[0].State != state || found[0].Repaired {
		t.Fatalf("found %+v, want %s", found, state)
	}
	if gotSummary, gotItems := found[0].Texts(); gotSummary != summary || gotItems != items {
		t.Errorf("summary %q, items %q; want %q, %q", gotSummary, gotItems, summary, items)
	}
	found = check(t, r.auditor(t, set(true)), target)
	if len(found) != 1 || found[0].State != state || !found[0].Repaired {
		t.Fatalf("repair: %+v, want %s", found, state)
	}
	if found = check(t, r.auditor(t, set(false)), target); len(found) != 0 {
		t.Fatalf("after the repair: %+v", found)
	}
}
