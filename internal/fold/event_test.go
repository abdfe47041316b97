package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// happening is a change of an event.
type happening struct {
	kind     string // INSERT, MODIFY or REMOVE
	entity   string
	id       string
	at       time.Time
	old, new string // data, in DynamoDB's JSON
	sequence string
}

func (h happening) record() string {
	keys := fmt.Sprintf(`"pk":{"S":"E#%s#%s#0"},"sk":{"S":%q}`, h.entity, schema.EventBucket.Label(h.at), schema.EventSortKey(h.at, h.id))
	images := ""
	if h.kind != "INSERT" {
		images += fmt.Sprintf(`,"OldImage":{%s,"data":%s}`, keys, h.old)
	}
	if h.kind != "REMOVE" {
		images += fmt.Sprintf(`,"NewImage":{%s,"expires_at":{"N":"5100000000"},"data":%s}`, keys, h.new)
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":%q%s}}`, h.kind, keys, h.sequence, images)
}

// windowed returns a delivery of a stream shard's changes.
func windowed(streamShard string, happenings ...happening) []byte {
	records := make([]string, len(happenings))
	for i, h := range happenings {
		records[i] = h.record()
	}
	return enginetest.WindowedBatch(streamShard, records...)
}

// hand delivers a payload, and returns the sequence numbers that are reported as failed.
func hand(h *Handler, payload []byte) (map[string]bool, error) {
	out, err := h.Invoke(context.Background(), payload)
	if err != nil {
		return nil, err
	}
	var answer struct {
		State    map[string]string `json:"state"`
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err = json.Unmarshal(out, &answer); err == nil && answer.State == nil {
		err = fmt.Errorf("the answer %s has no state", out)
	}
	failed := map[string]bool{}
	for _, f := range answer.Failures {
		failed[f.ID] = true
	}
	return failed, err
}

// must delivers a payload, of which no record may fail.
func must(t rapid.TB, h *Handler, payload []byte) {
	t.Helper()
	if failed, err := hand(h, payload); err != nil || len(failed) > 0 {
		t.Fatalf("%d records failed, error %v", len(failed), err)
	}
}

// rollups returns an entity's rollups by the bucket's label.
func rollups(t rapid.TB, db *dynamodb.Client, table, entity string) map[string]parts.Rollup {
	t.Helper()
	found := map[string]parts.Rollup{}
	for _, pk := range schema.RollupPartitions(entity, start.AddDate(0, -1, 0), start.AddDate(0, 2, 0)) {
		for _, item := range enginetest.Query(t, db, table, pk) {
			part, err := parts.ParseRollup(item)
			if err != nil {
				t.Fatal(err)
			}
			label, _, _ := strings.Cut(dynamo.Text(item, schema.SK), "#")
			sum := found[label]
			sum.Merge(part)
			found[label] = sum
		}
	}
	return found
}

// start is the time of the events: a month's last day.
var start = time.Date(2026, 1, 31, 22, 30, 0, 0, time.UTC)

func newEvents(t *testing.T, change func(*Settings)) (*Handler, *dynamodb.Client) {
	t.Helper()
	db := enginetest.Client(t)
	settings := Settings{RollupsTable: enginetest.Tables(t, db).Rollups, Rollups: true}
	if change != nil {
		change(&settings)
	}
	return newHandler(t, settings, db), db
}

func inserted(entity, id, data, sequence string) happening {
	return happening{kind: "INSERT", entity: entity, id: id, at: start, new: data, sequence: sequence}
}
