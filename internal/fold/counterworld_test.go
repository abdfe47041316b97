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
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ledger has the items table and the rollups table in memory, for counters only. Updates of the
// items table append to its stream.
type ledger struct {
	fold.Client
	withoutN bool // the rule taken away: no update stores n

	mu      sync.Mutex
	tables  map[string]map[string]dynamo.Item // by name and partition key
	late    func(in *dynamodb.UpdateItemInput) bool
	held    []*dynamodb.UpdateItemInput // commits that come late
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
		l.held = append(l.held, in) // its caller has no answer
		return nil, context.DeadlineExceeded
	}
	l.increment(in)
	return &dynamodb.UpdateItemOutput{}, nil
}

// increment makes an increment and appends its record.
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
	if most, ok := in.ExpressionAttributeValues[":most"].(*types.AttributeValueMemberNS); ok && !l.withoutN {
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

// fold makes the update of a fold, if all revs of the summary are lower.
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

// commit makes the commits that were held.
func (l *ledger) commit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.held {
		l.increment(in)
	}
	l.held = nil
}

// deliver hands all records of the stream to a handler, in batches of at most 1,000; some twice.
func (l *ledger) deliver(t testing.TB, h *fold.Handler, again func() bool) {
	t.Helper()
	for i := range l.streams {
		l.mu.Lock()
		records := l.streams[i]
		l.streams[i] = nil
		l.mu.Unlock()
		for len(records) > 0 {
			n := min(1000, len(records))
			payload := fmt.Sprintf(`{"Records":[%s],"window":{"start":"2026-01-05T12:00:00Z","end":"2026-01-05T12:00:10Z"},"state":{},"shardId":"s%d"}`, strings.Join(records[:n], ","), i)
			for repeat := true; repeat; repeat = again() {
				out, err := h.Invoke(t.Context(), []byte(payload))
				if err != nil || strings.Contains(string(out), "itemIdentifier") {
					t.Fatalf("%.200s, %v", out, err)
				}
			}
			records = records[n:]
		}
	}
}

func never() bool { return false }

func newCounterFolds(t testing.TB, l *ledger) *fold.Handler {
	t.Helper()
	h, err := fold.New(fold.Settings{RollupsTable: "rollups", ItemsTable: "items", ShardMapTable: "map"}, l, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// unreadable is a shard map that can't be read once it is down.
type unreadable struct {
	*mapfake.Table
	down *bool
}

var errDown = errors.New("the shard map is down")

func (u unreadable) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if *u.down {
		return nil, errDown
	}
	return u.Table.GetItem(ctx, in, o...)
}

func (u unreadable) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if *u.down {
		return nil, errDown
	}
	return u.Table.Query(ctx, in, o...)
}

// TestEventualIsStrongAtRest has 10,000 counters, of which some grow, shrink, lose write shard 0 or
// are written by a process with an old view. Increments commit a minute after their caller gave up.
// At rest, readers with a new view, with a view from before all growth and without any view see what
// a strong read sees. Without n, readers whose view can't be renewed miss the other write shards.
func TestEventualIsStrongAtRest(t *testing.T) {
	const keys = 10_000
	for _, withoutN := range []bool{false, true} {
		wrong := counterWorld(t, keys, withoutN)
		if wrong["new"] != 0 || !withoutN && wrong["old"]+wrong["none"] != 0 {
			t.Errorf("without n %t: counters that differ: %v", withoutN, wrong)
		}
		if withoutN && (wrong["old"] == 0 || wrong["none"] == 0) {
			t.Errorf("without n no reader differs: %v", wrong)
		}
	}
}

// counterWorld returns the number of counters whose eventual reads differ from strong ones, by view.
func counterWorld(t *testing.T, keys int, withoutN bool) map[string]int {
	ctx, random := t.Context(), rand.New(rand.NewPCG(1, 2))
	l := newLedger()
	l.withoutN = withoutN
	table, down, up := mapfake.New(1000, 0, 0), false, false
	now := time.Date(2126, 1, 5, 12, 0, 0, 0, time.UTC)
	view := func(down *bool) *shardmap.Map {
		return shardmap.New(unreadable{table, down}, "map", shardmap.Options{})
	}
	changer := shardmap.NewChanger(table, shardmap.New(table, "map", shardmap.Options{}), shardmap.ChangerOptions{})
	began := now
	old := view(&down) // loaded before all growth; its renewals fail from then on
	if err := old.Load(ctx, now); err != nil {
		t.Fatal(err)
	}
	down = true
	l.late = func(*dynamodb.UpdateItemInput) bool { return random.IntN(50) == 0 }
	fresh := view(&up)
	writers := []*counters.Writer{
		counters.NewWriter(l, "items", fresh, counters.Options{}), counters.NewWriter(l, "items", old, counters.Options{}),
	}
	add := func(w *counters.Writer, name string, at time.Time) {
		if err := w.Add(ctx, name, random.Int64N(100)-30, at); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	name := func(i int) string { return "c" + strconv.Itoa(i) }
	for i := range keys {
		add(writers[0], name(i), now)
	}
	h := newCounterFolds(t, l)
	again := func() bool { return random.IntN(10) == 0 }
	grown := map[string]bool{}
	for range 10 {
		now = now.Add(20 * time.Second)
		for range 60 {
			key := name(random.IntN(500))
			if _, err := changer.Pin(ctx, counters.Key(key), 1+random.IntN(150), shardmap.Note{By: "test"}, now); err != nil {
				t.Fatal(err)
			}
			grown[key] = true
		}
		now = now.Add(10 * time.Second)
		for range 5000 {
			add(writers[0], name(random.IntN(keys)), now)
			add(writers[0], name(random.IntN(500)), now)
			add(writers[1], name(random.IntN(500)), began) // its view is new at this time
		}
		for range 10 {
			l.remove(name(random.IntN(500)), random.IntN(3))
		}
		l.deliver(t, h, again)
		if random.IntN(3) == 0 {
			now = now.Add(time.Minute)
			l.commit()
		}
	}
	now = now.Add(time.Minute)
	l.commit()
	l.late = nil
	for key := range grown { // the promise: a write has reached write shard 0 since the growth
		for drawn := -1; drawn != 0; {
			w := writers[0].AddTransact(ctx, key, 1, now)
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
		if err != nil {
			t.Fatal(err)
		}
		names[i], sums[i] = name(i), sum.Value
	}
	for which, shards := range map[string]*shardmap.Map{"new": fresh, "old": old, "none": view(&down)} {
		reader := counters.NewSummaries(l, "items", "rollups", shards)
		list, err := reader.Read(ctx, names, now)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range list {
			if s.Err != nil || s.Value.Cmp(sums[i]) != 0 {
				wrong[which]++
			}
		}
	}
	t.Logf("without n %t: %d counters, %d grown, %d writes; differ: %v", withoutN, keys, len(grown), l.records, wrong)
	return wrong
}

// TestFoldsCost counts the write units of the rollups table for each write of a counter: with four
// stream shards, a batching window of 1 s and at most 1,000 records a batch. All records of the
// stream are delivered, as without the mapping's filter.
func TestFoldsCost(t *testing.T) {
	const writes = 40_000
	zipf := func(targets uint64) func(*rand.Rand) func() uint64 {
		return func(random *rand.Rand) func() uint64 { return rand.NewZipf(random, 1.1, 1, targets-1).Uint64 }
	}
	for _, c := range []struct {
		name   string
		draw   func(*rand.Rand) func() uint64
		rate   int // writes a second
		grows  []int
		atMost float64
	}{
		{"1,000 counters, Zipf 1.1", zipf(1000), 1000, nil, 0.02},
		{"100,000 counters, Zipf 1.1", zipf(100_000), 1000, nil, 0.02},
		{"100,000 counters, uniform", func(random *rand.Rand) func() uint64 { return func() uint64 { return random.Uint64N(100_000) } }, 1000, nil, 0.02},
		{"one counter, N 1 to 64", func(*rand.Rand) func() uint64 { return func() uint64 { return 0 } }, 1000, []int{4, 16, 64}, 0.1},
		{"one counter, N 1 to 64", func(*rand.Rand) func() uint64 { return func() uint64 { return 0 } }, 4000, []int{4, 16, 64}, 0.1},
	} {
		ctx, draw := t.Context(), c.draw(rand.New(rand.NewPCG(1, 0)))
		l, table := newLedger(), mapfake.New(1000, 0, 0)
		shards := shardmap.New(table, "map", shardmap.Options{})
		changer := shardmap.NewChanger(table, shards, shardmap.ChangerOptions{})
		w, h := counters.NewWriter(l, "items", shards, counters.Options{}), newCounterFolds(t, l)
		storm := c.grows != nil
		now, seconds := time.Date(2126, 1, 5, 12, 0, 0, 0, time.UTC), writes/c.rate
		for second := range seconds {
			now = now.Add(time.Second)
			if len(c.grows) > 0 && second%2 == 1 {
				if _, err := changer.Pin(ctx, counters.Key("c0"), c.grows[0], shardmap.Note{By: "test"}, now); err != nil {
					t.Fatal(err)
				}
				c.grows = c.grows[1:]
			}
			for range c.rate {
				if err := w.Add(ctx, "c"+strconv.FormatUint(draw(), 10), 1, now); err != nil {
					t.Fatal(err)
				}
			}
			l.deliver(t, h, never)
		}
		cost := float64(l.units) / float64(seconds*c.rate)
		t.Logf("%s, %d writes/s: %d writes, %d write units of folds: %.4f a write", c.name, c.rate, seconds*c.rate, l.units, cost)
		if cost > c.atMost {
			t.Errorf("%s costs %.4f units a write, want at most %.2f", c.name, cost, c.atMost)
		}
		if folds := l.units > 0; folds != storm {
			t.Errorf("%s: folded %t, want %t", c.name, folds, storm)
		}
	}
}
