package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// write is one write of a counter's write shard, as the stream tells it.
type write struct {
	counter string
	shard   int
	rev     int64
	value   int64
	removed bool
	seq     int
}

func (w write) record() string {
	_, sk := schema.CounterKey(w.counter, w.shard)
	image := fmt.Sprintf(`{"pk":{"S":"C#%s#%d"},"sk":{"S":%q},"rev":{"N":"%d"},"value":{"N":"%d"}}`, w.counter, w.shard, sk, w.rev, w.value)
	name, kind := "MODIFY", "NewImage"
	if w.removed {
		name, kind = "REMOVE", "OldImage"
	}
	return fmt.Sprintf(`{"eventID":"%d","eventName":%q,"dynamodb":{"ApproximateCreationDateTime":1.7e9,`+
		`"Keys":{"sk":{"S":%q},"pk":{"S":"C#%s#%d"}},"SequenceNumber":"%021d",%q:%s,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		w.seq, name, sk, w.counter, w.shard, w.seq+1, kind, image)
}

func payload(writes []write) []byte {
	records := make([]string, len(writes))
	for i, w := range writes {
		records[i] = w.record()
	}
	return []byte(`{"Records":[` + strings.Join(records, ",") + `]}`)
}

type bench struct {
	handler *Handler
	reader  *counters.Summaries
}

func newBench(t *testing.T, client Client) (*bench, *dynamodb.Client) {
	t.Helper()
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	if client == nil {
		client = db
	}
	return &bench{
		handler: newHandler(t, Settings{RollupsTable: names.Rollups}, client),
		reader:  counters.NewSummaries(db, names.Items, names.Rollups, shardmap.New(db, names.ShardMap, shardmap.Options{})),
	}, db
}

func newHandler(t rapid.TB, settings Settings, client Client) *Handler {
	t.Helper()
	names := schema.NamesFor(strings.TrimSuffix(settings.RollupsTable, schema.NamesFor("").Rollups))
	settings.ItemsTable, settings.ShardMapTable = names.Items, names.ShardMap
	settings.BoardRecheck = cmp.Or(settings.BoardRecheck, 30*time.Second)
	handler, err := New(settings, client, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// deliver hands over a batch and returns the sequence numbers reported as failed.
func (b *bench) deliver(t rapid.TB, writes []write) []string {
	t.Helper()
	out, err := b.handler.Invoke(context.Background(), payload(writes))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		State    map[string]string `json:"state"`
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.State == nil {
		t.Fatalf("answer %s: %v", out, err)
	}
	var ids []string
	for _, f := range answer.Failures {
		ids = append(ids, f.ID)
	}
	return ids
}

func (b *bench) value(t rapid.TB, counter string) string {
	t.Helper()
	got, err := b.reader.Read(context.Background(), []string{counter}, enginetest.Later)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Value.String()
}

// TestFoldsOnceHoweverDelivered delivers the writes of a counter's write shards
// in random batches, again and again, out of order, by two containers.
func TestFoldsOnceHoweverDelivered(t *testing.T) {
	lane.Checks(t, 30)
	one, db := newBench(t, nil)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		counter := fmt.Sprintf("c%d", round)
		two := &bench{handler: newHandler(t, Settings{RollupsTable: one.handler.folder.table}, db), reader: one.reader}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		writes, want := history(random, counter, rapid.IntRange(1, 40).Draw(t, "writes"))
		for range 8 {
			from := random.IntN(len(writes))
			to := from + 1 + random.IntN(len(writes)-from)
			[]*bench{one, two}[random.IntN(2)].deliver(t, writes[from:to])
		}
		two.deliver(t, writes)
		one.deliver(t, writes[:1+random.IntN(len(writes))])
		if got := one.value(t, counter); got != fmt.Sprint(want) {
			t.Fatalf("summary %s, want %d", got, want)
		}
	})
}

// history makes writes of four write shards, and the sum that they end with.
func history(random *rand.Rand, counter string, n int) ([]write, int64) {
	var current [4]write
	var writes []write
	for seq := range n {
		i := random.IntN(len(current))
		w := &current[i]
		switch {
		case w.rev > 0 && !w.removed && random.IntN(8) == 0:
			w.removed = true
		case w.removed: // made again: the clock's microseconds are above the old rev
			*w = write{rev: w.rev + 1000, value: random.Int64N(100)}
		default:
			w.rev, w.value = w.rev+1, w.value+random.Int64N(100)-30
		}
		w.counter, w.shard, w.seq = counter, i+1, seq
		writes = append(writes, *w)
	}
	var sum int64
	for _, w := range current {
		if !w.removed {
			sum += w.value
		}
	}
	return writes, sum
}

// TestOneUpdateForEachCounter checks that a batch costs one update for each counter's summary, however many
// records and write shards it has, and that a redelivery to another container costs one failed condition each.
func TestOneUpdateForEachCounter(t *testing.T) {
	b, db := newBench(t, nil)
	one, two := &counting{Client: db}, &counting{Client: db}
	settings := Settings{RollupsTable: b.handler.folder.table}
	var writes []write
	for i := range 200 {
		writes = append(writes, write{counter: fmt.Sprint("c", i%5), shard: 1 + i%16, rev: int64(i + 1), value: int64(i), seq: i})
	}
	first := &bench{handler: newHandler(t, settings, one), reader: b.reader}
	first.deliver(t, writes)
	first.deliver(t, writes)
	if one.updates != 5 || one.refused != 0 {
		t.Errorf("%d updates, %d refused; want 5 and none", one.updates, one.refused)
	}
	(&bench{handler: newHandler(t, settings, two), reader: b.reader}).deliver(t, writes)
	if two.updates != 5 || two.refused != 5 {
		t.Errorf("another container: %d updates, %d refused; want 5 and 5", two.updates, two.refused)
	}
}

func TestSourcesBeyondOnePartial(t *testing.T) {
	b, db := newBench(t, nil)
	names := strings.TrimSuffix(b.handler.folder.table, "rollups")
	put(t, db, schema.NamesFor(names).ShardMap)
	var writes []write
	for i := range 200 {
		writes = append(writes, write{counter: "wide", shard: i, rev: 5, value: int64(i), seq: i})
	}
	b.deliver(t, writes)
	if got := b.value(t, "wide"); got != "19900" {
		t.Fatalf("summary %s, want 19900", got)
	}
}

func put(t *testing.T, db *dynamodb.Client, table string) {
	t.Helper()
	pk, sk := schema.MapKey("C#wide")
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"pk":            &types.AttributeValueMemberS{Value: pk},
		"sk":            &types.AttributeValueMemberS{Value: sk},
		"shard_history": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "1:200"}}},
		"version":       &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// flaky fails the updates of one summary.
type flaky struct {
	Client
	pk string
}

func (f *flaky) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.Key["pk"].(*types.AttributeValueMemberS).Value == f.pk {
		return nil, errors.New("out of order")
	}
	return f.Client.UpdateItem(ctx, in, o...)
}

func TestFailuresAreReportedBySequenceNumber(t *testing.T) {
	b, db := newBench(t, nil)
	b.handler.folder.client = &flaky{db, "C#bad#0"}
	writes := []write{
		{counter: "good", shard: 1, rev: 1, value: 1, seq: 0},
		{counter: "bad", shard: 1, rev: 1, value: 1, seq: 1},
		{counter: "good", shard: 1, rev: 2, value: 2, seq: 2},
		{counter: "bad", shard: 1, rev: 2, value: 2, seq: 3},
	}
	failed := b.deliver(t, writes)
	if len(failed) != 2 || failed[0] != fmt.Sprintf("%021d", 2) || failed[1] != fmt.Sprintf("%021d", 4) {
		t.Fatalf("failed: %v", failed)
	}
	b.handler.folder.client = db
	b.deliver(t, writes[1:])
	if good, bad := b.value(t, "good"), b.value(t, "bad"); good != "2" || bad != "2" {
		t.Fatalf("good %s, bad %s", good, bad)
	}
}

func TestOtherItemsAreLeftAlone(t *testing.T) {
	b, db := newBench(t, nil)
	out, err := b.handler.Invoke(t.Context(), []byte(`{"Records":[
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"E#e#2026-01-05#0"},"sk":{"S":"x"}}}},
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"pk":{"S":"I#key"},"sk":{"S":"-"}}}},
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"3","Keys":{"pk":{"S":"C#c#0"},"sk":{"S":"-"}},"NewImage":{"pk":{"S":"C#c#0"},"rev":{"N":"1"}}}},
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"4","Keys":{"pk":{"S":"C#c#0"},"sk":{"S":"+"}},"NewImage":{"pk":{"S":"C#c#0"},"rev":{"N":"1"}}}},
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"5","Keys":{"pk":{"S":"C#c#1"},"sk":{"S":"-"}},"NewImage":{"pk":{"S":"C#c#1"},"rev":{"N":"1"}}}},
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"6","Keys":{"pk":{"S":"C#c#1"},"sk":{"S":"+"}},"NewImage":{"pk":{"S":"C#c#1"},"rev":{"N":"1"}}}}]}`))
	if err != nil || strings.Contains(string(out), "itemIdentifier") {
		t.Fatalf("got %s, %v", out, err)
	}
	if got := failures(t, db, b.handler.table); len(got) != 1 || got["C#c#0"].sequence != "6" {
		t.Fatalf("failures %+v; want that of the counter without a value", got)
	}
	if _, err := b.handler.Invoke(t.Context(), []byte(`{"Records":`)); err == nil {
		t.Fatal("half a payload is no error")
	}
}
