package fold_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ledger has the items and rollups tables in memory, for counters only. Updates of the items table append
// records to its stream.
type ledger struct {
	fold.Client
	mu      sync.Mutex
	tables  map[string]map[string]dynamo.Item // by name and partition key
	late    func(in *dynamodb.UpdateItemInput) bool
	held    []*dynamodb.UpdateItemInput // updates that are applied later
	streams [4][]string                 // records that were not delivered
	records int
	units   int // write units of the rollups table
}

func newLedger() *ledger {
	return &ledger{tables: map[string]map[string]dynamo.Item{"items": {}, "rollups": {}}}
}

func (l *ledger) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *in.TableName == "rollups" {
		return l.fold(in)
	}
	if l.late != nil && l.late(in) {
		l.held = append(l.held, in) // the caller gets an unknown outcome
		return nil, context.DeadlineExceeded
	}
	l.increment(in)
	return &dynamodb.UpdateItemOutput{}, nil
}

// increment applies an increment and appends its record.
func (l *ledger) increment(in *dynamodb.UpdateItemInput) {
	pk := dynamo.Text(in.Key, schema.PK)
	it := maps.Clone(l.tables["items"][pk])
	if it == nil {
		it = maps.Clone(in.Key)
		it["rev"] = in.ExpressionAttributeValues[":now"]
	}
	rev, _ := dynamo.Integer(it, "rev")
	value, _ := dynamo.Integer(it, "value")
	delta, _ := dynamo.Integer(in.ExpressionAttributeValues, ":delta")
	it["rev"], it["value"] = dynamo.Number(rev+1), dynamo.Number(value+delta)
	if most, ok := in.ExpressionAttributeValues[":most"].(*types.AttributeValueMemberNS); ok {
		had, _ := it[schema.Counts].(*types.AttributeValueMemberNS)
		set := map[string]bool{most.Value[0]: true}
		if had != nil {
			for _, n := range had.Value {
				set[n] = true
			}
		}
		all := &types.AttributeValueMemberNS{}
		for n := range set {
			all.Value = append(all.Value, n)
		}
		it[schema.Counts] = all
	}
	l.tables["items"][pk] = it
	l.append("MODIFY", "New", it)
}

// append appends a record to the stream shard of a partition key.
func (l *ledger) append(name, image string, it dynamo.Item) {
	pk := dynamo.Text(it, schema.PK)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pk))
	l.records++
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, dynamo.Text(it, schema.SK))
	at := hash.Sum32() % uint32(len(l.streams))
	l.streams[at] = append(l.streams[at], fmt.Sprintf(`{"eventName":%q,"dynamodb":{"SequenceNumber":"%d","Keys":{%s},"%sImage":{%[3]s,"rev":{"N":%[5]q},"value":{"N":%[6]q}}}}`,
		name, l.records, keys, image, dynamo.Digits(it, "rev"), dynamo.Digits(it, "value")))
}

// fold applies a fold if all its revs are higher than the summary's.
func (l *ledger) fold(in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	pk := dynamo.Text(in.Key, schema.PK)
	old := l.tables["rollups"][pk]
	it := maps.Clone(old)
	if it == nil {
		it = maps.Clone(in.Key)
	}
	it[schema.AsOf] = in.ExpressionAttributeValues[":at"]
	failed := false
	for name, value := range in.ExpressionAttributeValues {
		attribute := strings.TrimPrefix(name, ":")
		if strings.HasPrefix(attribute, "r") {
			had, _ := dynamo.Integer(old, attribute)
			now, _ := dynamo.Integer(in.ExpressionAttributeValues, name)
			failed = failed || had >= now
		}
		if strings.HasPrefix(attribute, "r") || strings.HasPrefix(attribute, "x") {
			it[attribute] = value
		}
	}
	l.units += max(dynamo.Size(it), dynamo.Size(old), 1)/1024 + 1
	if failed {
		return nil, &types.ConditionalCheckFailedException{Item: old}
	}
	l.tables["rollups"][pk] = it
	return &dynamodb.UpdateItemOutput{}, nil
}

func (l *ledger) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}}
	for table, asked := range in.RequestItems {
		for _, key := range asked.Keys {
			if it := l.tables[table][dynamo.Text(key, schema.PK)]; it != nil && dynamo.Text(it, schema.SK) == dynamo.Text(key, schema.SK) {
				out.Responses[table] = append(out.Responses[table], it)
			}
		}
	}
	return out, nil
}

// remove deletes a write shard of a counter.
func (l *ledger) remove(name string, n int) {
	pk, _ := schema.CounterKey(name, n)
	l.mu.Lock()
	defer l.mu.Unlock()
	if it := l.tables["items"][pk]; it != nil {
		delete(l.tables["items"], pk)
		l.append("REMOVE", "Old", it)
	}
}

// commit applies the updates that were held.
func (l *ledger) commit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.held {
		l.increment(in)
	}
	l.held = nil
}

// deliver delivers all records of the stream to a handler, in batches of at most 1,000. It repeats a batch
// while again returns true.
func (l *ledger) deliver(t testing.TB, h *fold.Handler, again func() bool) {
	t.Helper()
	for i := range l.streams {
		l.mu.Lock()
		records := l.streams[i]
		l.streams[i] = nil
		l.mu.Unlock()
		for len(records) > 0 {
			n := min(1000, len(records))
			payload := enginetest.WindowedBatch(fmt.Sprint("s", i), records[:n]...)
			for repeat := true; repeat; repeat = again() {
				out, err := h.Invoke(t.Context(), payload)
				if err != nil || strings.Contains(string(out), "itemIdentifier") {
					t.Fatalf("the handler returned %.200s, %v; want no failures", out, err)
				}
			}
			records = records[n:]
		}
	}
}

func newCounterFolds(t testing.TB, l *ledger) *fold.Handler {
	t.Helper()
	h, err := fold.New(fold.Settings{RollupsTable: "rollups", ItemsTable: "items", ShardMapTable: "map"}, l, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	return h
}

// shardMap is a process's client of the shard map.
type shardMap struct {
	*mapfake.Table
	down bool                                // it can't be read
	late func() bool                         // reports whether a change is applied later; nil for never
	died context.CancelFunc                  // ends the call of the changer that dies then
	held []*dynamodb.TransactWriteItemsInput // changes that are applied later
}

var errDown = errors.New("the shard map is down")

func (m *shardMap) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if m.down {
		return nil, errDown
	}
	return m.Table.GetItem(ctx, in, o...)
}

func (m *shardMap) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if m.down {
		return nil, errDown
	}
	return m.Table.Query(ctx, in, o...)
}

func (m *shardMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if m.late != nil && m.late() {
		m.held = append(m.held, in)
		m.died()
		return nil, context.Canceled
	}
	return m.Table.TransactWriteItems(ctx, in, o...)
}

// PutItem would void a change, but its changer died. It stores items of snapshots.
func (m *shardMap) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if in.ConditionExpression == nil {
		return m.Table.PutItem(ctx, in, o...)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// commit applies the held changes whose keys have not changed since, and returns their number.
func (m *shardMap) commit(ctx context.Context) (made int) {
	for _, in := range m.held {
		put := in.TransactItems[0].Put
		if dynamo.Digits(m.Items[mapfake.Slot(put.Item)], "version") == dynamo.Digits(put.ExpressionAttributeValues, ":old") {
			_, _ = m.Table.TransactWriteItems(ctx, in)
			made++
		}
	}
	m.held = nil
	return made
}

// TestEventualIsStrongAtRest compares eventual with strong reads of many counters at rest. Some counters grow,
// shrink, lose write shards, are deleted and created again, or are written by a process with an old view.
// Increments and changes of shard counts are applied a minute or more after their caller gave up. The readers
// have a new view, a polled one that missed late changes, one from before all growth, or none.
func TestEventualIsStrongAtRest(t *testing.T) {
	keys := lane.Runs(2_000, 100_000)
	for seed := range lane.Runs(1, 3) {
		if wrong := counterWorld(t, uint64(seed), keys); len(wrong) > 0 {
			t.Errorf("seed %d: counters that differ: %v", seed, wrong)
		}
	}
}

// counterWorld returns the number of counters whose eventual reads differ from strong ones, by view.
func counterWorld(t *testing.T, seed uint64, keys int) map[string]int {
	const hot = 500 // counters that grow
	ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 2))
	sometimes := func(n int) func() bool { return func() bool { return random.IntN(n) == 0 } }
	l, table := newLedger(), mapfake.New(1000, 0, 0)
	now := time.Date(2126, 1, 5, 12, 0, 0, 0, time.UTC)
	view := func(client shardmap.Client) *shardmap.Map { return shardmap.New(client, "map", shardmap.Options{}) }
	changes := &shardMap{Table: table, late: sometimes(10)}
	changer := shardmap.NewChanger(changes, view(table), shardmap.ChangerOptions{Clock: func() time.Time { return now }})
	began, down := now, &shardMap{Table: table}
	old, polled := view(down), view(table) // old is loaded before all growth; its renewals fail from then on
	require.NoError(t, old.Load(ctx, now))
	down.down = true
	l.late = func(*dynamodb.UpdateItemInput) bool { return random.IntN(50) == 0 }
	add := func(shards *shardmap.Map, name string, at time.Time) {
		w := counters.NewWriter(l, "items", shards, counters.Options{})
		if err := w.Add(ctx, name, random.Int64N(100)-30, at); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	name := func(i int) string { return "c" + strconv.Itoa(i) }
	for i := range keys {
		add(polled, name(i), now)
	}
	h, again := newCounterFolds(t, l), sometimes(10)
	joined, grown, lateChanges, deleted := polled, map[string]bool{}, 0, 0
	for range 10 {
		now = now.Add(20 * time.Second)
		for range 60 {
			key := name(random.IntN(hot))
			ctx, cancel := context.WithCancel(ctx)
			changes.died = cancel
			if _, err := changer.Pin(ctx, counters.Key(key), 1+random.IntN(150), shardmap.Note{By: "test"}, now); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			cancel()
			grown[key] = true
		}
		now = now.Add(10 * time.Second)
		for range lane.Runs(500, 2000) {
			add(polled, name(random.IntN(keys)), now)
			add(polled, name(random.IntN(hot)), now)
			add(joined, name(random.IntN(hot)), now)
			add(old, name(random.IntN(hot)), began) // its view is new at this time
		}
		for range 10 {
			l.remove(name(random.IntN(hot)), random.IntN(3))
		}
		l.deliver(t, h, again)
		if random.IntN(3) == 0 {
			now = now.Add(time.Minute)
			l.commit()
			lateChanges += changes.commit(ctx)
			joined = view(table) // of a process that starts after the late changes
		}
		for range 5 {
			key := name(random.IntN(hot))
			entry, err := changer.Reset(ctx, counters.Key(key), now)
			if err != nil {
				continue // it has one write shard, or the change comes late
			}
			now = now.Add(2 * time.Minute)
			l.commit()
			for n := range entry.Most() {
				l.remove(key, n)
			}
			deleted++
		}
	}
	now = now.Add(time.Minute)
	l.commit()
	lateChanges += changes.commit(ctx)
	l.late = nil
	fresh := view(table)
	for key := range grown { // the promise: a write has reached write shard 0 since the growth
		for drawn := -1; drawn != 0; {
			w := counters.NewWriter(l, "items", fresh, counters.Options{}).AddTransact(ctx, key, 1, now)
			drawn = w.Attempt.Shard
			if _, err := l.UpdateItem(ctx, dynamo.UpdateInput(w.Action.Update)); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.deliver(t, h, again)
	l.deliver(t, newCounterFolds(t, l), again)
	strong, wrong := counters.NewReader(l, "items", fresh), map[string]int{}
	names, sums := make([]string, keys), make([]*big.Int, keys)
	for i := range keys {
		sum, err := strong.Sum(ctx, name(i))
		require.NoError(t, err)
		names[i], sums[i] = name(i), sum.Value
	}
	for which, shards := range map[string]*shardmap.Map{"new": fresh, "polled": polled, "old": old, "none": view(down)} {
		list, err := counters.NewSummaries(l, "items", "rollups", shards).Read(ctx, names, now)
		require.NoError(t, err)
		for i, s := range list {
			if s.Err != nil || s.Value.Cmp(sums[i]) != 0 {
				wrong[which]++
			}
		}
	}
	t.Logf("seed %d: %d counters, %d grown, %d changes late, %d deleted, %d writes; differ: %v",
		seed, keys, len(grown), lateChanges, deleted, l.records, wrong)
	return wrong
}
