package fold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// write is a write of a counter's write shard.
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
	require.NoError(t, err)
	return handler
}

// deliver delivers writes, and returns the sequence numbers that are reported as failed.
func (b *bench) deliver(t rapid.TB, writes []write) map[string]bool {
	t.Helper()
	failed, err := hand(b.handler, payload(writes))
	require.NoError(t, err)
	return failed
}

func (b *bench) value(t rapid.TB, counter string) string {
	t.Helper()
	got, err := b.reader.Read(context.Background(), []string{counter}, enginetest.Later)
	require.NoError(t, err)
	return got[0].Value.String()
}

// failing returns a client whose updates of these partition keys fail with err; without keys, all do.
func failing(db *dynamodb.Client, err error, pks ...string) *dynamodb.Client {
	return enginetest.Before(db, func(in any) error {
		update, ok := in.(*dynamodb.UpdateItemInput)
		if ok && (len(pks) == 0 || slices.Contains(pks, dynamo.Text(update.Key, schema.PK))) {
			return err
		}
		return nil
	})
}

// updateOf matches updates of items with a sort key.
func updateOf(sk string) func(in any) bool {
	return func(in any) bool {
		update, ok := in.(*dynamodb.UpdateItemInput)
		return ok && dynamo.Text(update.Key, schema.SK) == sk
	}
}

// TestFailuresAreReportedBySequenceNumber checks that the records of a failed update are reported, and no
// others.
func TestFailuresAreReportedBySequenceNumber(t *testing.T) {
	b, db := newBench(t, nil)
	b.handler.counters.client = failing(db, errors.New("out of order"), "C#bad#0")
	writes := []write{
		{counter: "good", shard: 1, rev: 1, value: 1, seq: 0},
		{counter: "bad", shard: 1, rev: 1, value: 1, seq: 1},
		{counter: "good", shard: 1, rev: 2, value: 2, seq: 2},
		{counter: "bad", shard: 1, rev: 2, value: 2, seq: 3},
	}
	failed := b.deliver(t, writes)
	if len(failed) != 2 || !failed[fmt.Sprintf("%021d", 2)] || !failed[fmt.Sprintf("%021d", 4)] {
		t.Fatalf("failed: %v, want records 2 and 4", failed)
	}
	b.handler.counters.client = db
	b.deliver(t, writes[1:])
	if good, bad := b.value(t, "good"), b.value(t, "bad"); good != "2" || bad != "2" {
		t.Fatalf("after the redelivery: good %s, bad %s; want 2 and 2", good, bad)
	}
}

// TestTasks checks that the handler runs its two tasks, logs them, and rejects others.
func TestTasks(t *testing.T) {
	b, _ := newBench(t, nil)
	var logs bytes.Buffer
	b.handler.log = slog.New(slog.NewTextHandler(&logs, nil))
	if out, err := b.handler.Invoke(t.Context(), []byte(BoardsTask)); err != nil || string(out) != `{"looked":0,"failed":0,"later":0,"moved":0}` || !strings.Contains(logs.String(), `msg="boards task done"`) {
		t.Errorf("a task without notes: %s, %v, logs %s", out, err, &logs)
	}
	if _, err := b.handler.Invoke(t.Context(), []byte(CompactionTask)); err != nil || !strings.Contains(logs.String(), `msg="compaction task done"`) {
		t.Errorf("compaction: %v, %s", err, &logs)
	}
	if _, err := b.handler.Invoke(t.Context(), []byte(`{"task":"other"}`)); err == nil {
		t.Error("the handler accepts an unknown task")
	}
}

// TestLateNoteKeepsTheNewer checks that a late note of a board does not set back the time of a newer one.
func TestLateNoteKeepsTheNewer(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	for _, late := range []time.Duration{0, -20 * time.Second} {
		require.NoError(t, NoteBoard(t.Context(), db, names.Rollups, "b", "all", enginetest.Later.Add(late)))
	}
	key := dynamo.Key(schema.NoteKey("b", "all"))
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &names.Rollups, Key: key})
	if err != nil || !dynamo.EqualValues(out.Item[schema.NoteLast], dynamo.Number(enginetest.Later.UnixMilli())) {
		t.Errorf("the note is %v, %v; want the time of the newer", out.Item, err)
	}
}
