package fold

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

type failure struct {
	reason, sequence, shard string
	count                   int
}

// failures returns the stored failures by target.
func failures(t *testing.T, db *dynamodb.Client, table string) map[string]failure {
	t.Helper()
	found := map[string]failure{}
	for _, pk := range schema.FailurePartitions() {
		for _, it := range enginetest.Query(t, db, table, pk) {
			count, err := dynamo.Integer(it, schema.FailureCount)
			if err != nil {
				t.Fatal(err)
			}
			found[dynamo.Text(it, schema.SK)] = failure{
				dynamo.Text(it, schema.FailureReason), dynamo.Text(it, schema.FailureSequence), dynamo.Text(it, schema.StreamShard), int(count),
			}
		}
	}
	return found
}

// TestUnreadableRecord checks that an unreadable record is stored as a failure of its target, and blocks no
// other.
func TestUnreadableRecord(t *testing.T) {
	h, db := newEvents(t, nil)
	long := strings.Repeat("1", 41)
	must(t, h, windowed("s",
		inserted("bad", "1", `{"M":{}}`, "1"), inserted("bad", "2", `{"S":"text"}`, "2"), inserted("bad", "3", `{"M":{}}`, "3"),
		inserted("good", "1", `{"M":{}}`, "4"), inserted("long", "1", `{"M":{}}`, long)))
	got := failures(t, db, h.table)
	if len(got) != 2 {
		t.Fatalf("failures %+v, want those of bad and long", got)
	}
	if bad := got["E#bad#2026-01-31T22"]; bad.sequence != "2" || bad.shard != "s" || bad.count != 1 || !strings.Contains(bad.reason, "not a map") {
		t.Errorf("the failure of bad is %+v, want record 2 of stream shard s, not a map", bad)
	}
	if got["E#long#2026-01-31T22"].sequence != long {
		t.Errorf("failures %+v, want that of long with its sequence number", got)
	}
	for entity, want := range map[string]int64{"bad": 2, "good": 1} {
		if got := rollups(t, db, h.table, entity)["2026-01-31T22"].Events; got != want {
			t.Errorf("%s: %d events, want %d", entity, got, want)
		}
	}
}

// TestTargetThatTakesNoMore checks that records of a damaged or full summary become failures of it. They would
// fail at each redelivery.
func TestTargetThatTakesNoMore(t *testing.T) {
	b, db := newBench(t, nil)
	damaged := dynamo.Key("C#damaged#0", schema.SoleSK)
	damaged["r1"] = dynamo.String("one")
	enginetest.Put(t, db, b.handler.table, damaged)
	tooLarge := &smithy.GenericAPIError{Code: "ValidationException", Message: "Item size to update has exceeded the maximum allowed size"}
	b.handler.counters.client = failing(db, tooLarge, "C#full#0")
	failed := b.deliver(t, []write{
		{counter: "damaged", shard: 1, rev: 1, value: 1, seq: 0}, {counter: "full", shard: 1, rev: 1, value: 1, seq: 1},
		{counter: "full", shard: 1, rev: 2, value: 2, seq: 2}, {counter: "good", shard: 1, rev: 1, value: 7, seq: 3},
	})
	if len(failed) != 0 || b.value(t, "good") != "7" {
		t.Errorf("failed: %v, good %s; want none, and 7", failed, b.value(t, "good"))
	}
	got := failures(t, db, b.handler.table)
	if got["C#damaged#0"].count != 1 || got["C#full#0"].count != 2 || got["C#full#0"].sequence != fmt.Sprintf("%021d", 3) {
		t.Errorf("failures %+v, want 1 of damaged and 2 of full, the last of record 3", got)
	}
}

// TestUnstoredFailure checks that a record whose failure can't be stored is reported as failed, so that Lambda
// redelivers it.
func TestUnstoredFailure(t *testing.T) {
	h, db := newEvents(t, nil)
	h.client = failing(db, errors.New("not now"))
	batch := windowed("s", inserted("bad", "1", `{"S":"text"}`, "1"), inserted("good", "1", `{"M":{}}`, "2"))
	failed, err := hand(h, batch)
	if err != nil || len(failed) != 1 || !failed["1"] {
		t.Fatalf("failed: %v, %v; want record 1", failed, err)
	}
	h.client = db
	must(t, h, batch)
	if got := failures(t, db, h.table); len(got) != 1 {
		t.Errorf("failures after the redelivery: %+v, want one", got)
	}
	if got := rollups(t, db, h.table, "good")["2026-01-31T22"].Events; got != 1 {
		t.Errorf("good has %d events, want 1", got)
	}
}

// TestRecordWithoutAKey checks that such a record is stored as a failure of its stream, stream shard and
// sequence number. Both streams have a stream shard s.
func TestRecordWithoutAKey(t *testing.T) {
	h, db := newEvents(t, nil)
	for _, table := range schema.StreamTables() {
		must(t, h, []byte(`{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"5"}},
		{"eventName":"LOST","dynamodb":{"SequenceNumber":"6","Keys":{"pk":{"S":"S#group#0"},"sk":{"S":"x"}}}},
		{"eventName":"LOST","dynamodb":{"SequenceNumber":"7","Keys":{"pk":{"S":"C#c#70"},"sk":{"S":"+"}}}}],
		"shardId":"s","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/`+table+`/stream/1","window":{"start":"2026-01-31T22:00:00Z","end":"2026-01-31T22:00:10Z"}}`))
	}
	got := failures(t, db, h.table)
	if len(got) != 3 || got["?items/s#5"].count != 1 || got["?events/s#5"].count != 1 || got["C#c#1"].sequence != "7" {
		t.Errorf("failures %+v, want one of each stream and that of C#c#1", got)
	}
}

// TestWithoutAStreamShard checks that events fail if a mapping has no tumbling window, and that counters don't.
func TestWithoutAStreamShard(t *testing.T) {
	h, db := newEvents(t, nil)
	event := inserted("e", "1", `{"M":{}}`, "7")
	unwindowed := []byte(`{"Records":[` + write{counter: "c", rev: 1, value: 5}.record() + "," + event.record() + `]}`)
	failed, err := hand(h, unwindowed)
	if err != nil || len(failed) != 1 || !failed["7"] {
		t.Fatalf("failed: %v, %v; want the event", failed, err)
	}
	if got := rollups(t, db, h.table, "e"); len(got) != 0 {
		t.Fatalf("rollups %+v, want none", got)
	}
	must(t, newHandler(t, Settings{RollupsTable: h.table}, db), unwindowed) // without rules no event is folded
}
