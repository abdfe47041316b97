package fold

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// markerRecord returns the record of a stream marker of check a.
func markerRecord(n int, sequence string) string {
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":%q,"Keys":{"pk":{"S":"E#e#2026-01-31#0"},"sk":{"S":"2026-01-31T22!a#%d"}},`+
		`"NewImage":{"pk":{"S":"E#e#2026-01-31#0"},"sk":{"S":"2026-01-31T22!a#%d"}}}}`, sequence, n, n)
}

// acks returns the stream shards of the acknowledgements of check a, by marker.
func acks(t *testing.T, db *dynamodb.Client, table string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, it := range enginetest.Query(t, db, table, schema.AckPrefix+"a") {
		found[dynamo.Text(it, schema.SK)] = dynamo.Text(it, schema.StreamShard)
	}
	return found
}

// TestMarkersWaitForEarlierRecords checks that a stream marker is acknowledged only after all earlier records
// are folded.
func TestMarkersWaitForEarlierRecords(t *testing.T) {
	h, db := newEvents(t, nil)
	batch := enginetest.WindowedBatch("s", markerRecord(1, "1"), inserted("e", "1", `{"M":{}}`, "2").record(), markerRecord(2, "3"))
	h.events = newEventFolder(failing(db, errors.New("not now")), Settings{RollupsTable: h.table}, h.now)
	failed, err := hand(h, batch)
	if err != nil || len(failed) != 1 || !failed["2"] {
		t.Fatalf("failed: %v, %v; want the event", failed, err)
	}
	const pk = "E#e#2026-01-31#0#2026-01-31T22!a#"
	if got := acks(t, db, h.table); len(got) != 1 || got[pk+"1"] != "s" {
		t.Errorf("acknowledged: %v, want marker 1", got)
	}
	h.events = newEventFolder(db, Settings{RollupsTable: h.table}, h.now)
	must(t, h, batch)
	if got := acks(t, db, h.table); len(got) != 2 || got[pk+"2"] != "s" {
		t.Errorf("acknowledged after the redelivery: %v, want both", got)
	}
	if got := rollups(t, db, h.table, "e")["2026-01-31T22"].Events; got != 1 {
		t.Errorf("%d events, want 1: a stream marker is no event", got)
	}
}

// TestFailedAcknowledgement checks that a stream marker whose acknowledgement fails is reported as failed.
func TestFailedAcknowledgement(t *testing.T) {
	h, db := newEvents(t, nil)
	h.client = failing(db, context.DeadlineExceeded)
	failed, err := hand(h, enginetest.WindowedBatch("s", inserted("e", "1", `{"M":{}}`, "1").record(), markerRecord(1, "2"), markerRecord(2, "3")))
	if err != nil || len(failed) != 2 || !failed["2"] || !failed["3"] {
		t.Fatalf("failed: %v, %v; want both markers", failed, err)
	}
}
