package rebuild_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// lingering is a client that deletes no stream markers.
type lingering struct{ *dynamodb.Client }

func (lingering) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

// TestStreamMarkersAreInvisible checks that remaining stream markers are no events to readers, folds and
// checks.
func TestStreamMarkersAreInvisible(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	at := hour()
	r.put(t, "e", at, 4)
	r.folded(t, "e", at, 4)
	pk, sk := r.part(t, "e", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :n", item{":n": num(50)})
	a := rebuild.New(rebuild.Options{Names: r.names, Rules: r.rules, Repair: true, Lower: true, Wait: 20 * time.Second, Poll: time.Millisecond}, lingering{r.db})
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || !found[0].Repaired {
		t.Fatalf("findings %+v, want one that was repaired", found)
	}
	items := enginetest.Scan(t, r.db, r.names.Events)
	if len(items) < 4+24 {
		t.Fatalf("%d items, want 4 events and 24 stream markers", len(items))
	}
	reader := events.NewReader(r.db, r.names.Events, r.shards)
	for _, desc := range []bool{false, true} {
		var read []events.Event
		for after, more := "", true; more; more = after != "" {
			page, err := reader.Query(t.Context(), events.Range{
				Entity: "e", From: at.Add(-24 * time.Hour), To: at.Add(24 * time.Hour), Limit: 1, Desc: desc, After: after,
			}, time.Now())
			require.NoError(t, err)
			read, after = append(read, page.Events...), page.Next
		}
		if len(read) != 4 {
			t.Errorf("descending %t: read %+v, want 4 events", desc, read)
		}
	}
	if report := all(t, r.checker(nil)); report.Targets != 1 || report.Right != 1 {
		t.Errorf("the next check: %+v", report)
	}
}
