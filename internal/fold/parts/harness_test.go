package parts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// rig is a rollups table with a store and two containers of the aggregator.
type rig struct {
	db         *dynamodb.Client
	table      string
	items      string
	store      *parts.Store[measures.Part]
	containers [2]*fold.Handler
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	r := &rig{db: db, table: names.Rollups, items: names.Items}
	r.store = parts.NewEvents(db, r.table, time.Now)
	r.restart(t)
	return r
}

// restart has two containers that remember nothing.
func (r *rig) restart(t rapid.TB) {
	t.Helper()
	rules, err := fold.ParseRules(`[{"every":"1h"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.containers {
		r.containers[i], err = fold.New(fold.Settings{RollupsTable: r.table, Rules: rules}, r.db, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
	}
}

var hour = enginetest.Yesterday()

func bucketOf(entity string) parts.Bucket {
	return parts.Bucket{Entity: entity, Width: shard.Hour, Start: hour}
}

// payload has events from to to of a stream shard, counted from 0: sequence
// numbers, temperatures and ids go up by one.
func payload(entity, streamShard string, from, to int) []byte {
	var records []string
	for n := from; n < to; n++ {
		keys := fmt.Sprintf(`"pk":{"S":"E#%s#%s#0"},"sk":{"S":%q}`, entity, shard.Day.Label(hour, 0), schema.EventSortKey(hour, fmt.Sprint(streamShard, n)))
		records = append(records, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"Keys":{%s},"SequenceNumber":"%d","NewImage":{%s,"data":{"M":{"t":{"N":"%d"}}}}}}`, keys, 95+n, keys, n))
	}
	return []byte(`{"Records":[` + strings.Join(records, ",") + `],"window":{"start":"2026-01-05T12:00:00Z","end":"2026-01-05T12:00:10Z"},` +
		`"state":{},"shardId":"` + streamShard + `","isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false}`)
}

// fold delivers them.
func (r *rig) fold(t rapid.TB, container int, entity, streamShard string, from, to int) {
	t.Helper()
	out, err := r.containers[container].Invoke(context.Background(), payload(entity, streamShard, from, to))
	if err != nil || bytes.Contains(out, []byte("itemIdentifier")) {
		t.Fatalf("folding %d to %d of %s: %s, %v", from, to, streamShard, out, err)
	}
}

func (r *rig) read(t rapid.TB, entity string) []parts.Part[measures.Part] {
	t.Helper()
	list, err := r.store.Read(context.Background(), bucketOf(entity).Key())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (r *rig) replace(entity string, read []parts.Part[measures.Part]) error {
	_, err := r.store.Replace(context.Background(), bucketOf(entity).Key(), read, sum(read), 0, nil)
	return err
}

func (r *rig) merge(t rapid.TB, entity string) {
	t.Helper()
	if err := r.replace(entity, r.read(t, entity)); err != nil {
		t.Fatal(err)
	}
}

func sum(list []parts.Part[measures.Part]) (total measures.Part) {
	for _, p := range list {
		total.Merge(p.Value)
	}
	return total
}

// check compares what a reader makes of the parts with so many events of each
// stream shard.
func (r *rig) check(t rapid.TB, entity string, folded ...int) {
	t.Helper()
	events, temperatures, highest := 0, 0, -1
	for _, n := range folded {
		events, temperatures, highest = events+n, temperatures+n*(n-1)/2, max(highest, n-1)
	}
	got := sum(r.read(t, entity))
	if got.Events != int64(events) {
		t.Fatalf("%d events, want %d", got.Events, events)
	}
	m := got.Measures["t"]
	if events > 0 && (m.N != int64(events) || m.Sum.String() != fmt.Sprint(temperatures) || m.Min.String() != "0" || m.Max.String() != fmt.Sprint(highest)) {
		t.Fatalf("got %+v, want n %d, sum %d, max %d", m, events, temperatures, highest)
	}
}

// item is a part as it is stored, nil without one, as JSON that compares.
func (r *rig) item(t rapid.TB, entity, streamShard string) map[string]types.AttributeValue {
	t.Helper()
	pk, sk := schema.RollupKey(entity, shard.Hour, hour, streamShard)
	out, err := r.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &r.table, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func asJSON(t rapid.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// floor is the place of a stream shard's n-th event.
func floor(n int) string { return fmt.Sprintf("%0*d", schema.RollupSequenceDigits, 95+n-1) }

// eventsOf is what so many events of each stream shard come to.
func eventsOf(folded ...int) measures.Part {
	total := measures.Part{}.Clone()
	for _, n := range folded {
		for i := range n {
			total.Add(map[string]string{"t": fmt.Sprint(i)})
		}
	}
	return total
}
