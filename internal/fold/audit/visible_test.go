package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// lingering leaves marks where they are.
type lingering struct{ *dynamodb.Client }

func (lingering) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

// TestMarksAreInvisible: marks that are still there are no events, neither to readers
// nor to folds nor to the next audit.
func TestMarksAreInvisible(t *testing.T) {
	r := newRig(t)
	r.run(t, nil)
	at := hour()
	r.put(t, "e", at, 4)
	r.folded(t, "e", at, 4)
	pk, sk := r.part(t, "e", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :n", item{":n": num(50)})
	a := r.auditorOver(t, lingering{r.db}, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Fewer: true, Wait: 20 * time.Second, Poll: time.Millisecond})
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || !found[0].Repaired {
		t.Fatalf("found %+v", found)
	}
	out, err := r.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &r.names.Events})
	if err != nil || len(out.Items) < 4+24 {
		t.Fatalf("%d items, %v: the marks should be there", len(out.Items), err)
	}
	reader := events.NewReader(r.db, r.names.Events, r.shards)
	for _, desc := range []bool{false, true} {
		var read []events.Event
		for after, more := "", true; more; more = after != "" {
			page, err := reader.Query(t.Context(), events.Range{
				Entity: "e", From: at.Add(-24 * time.Hour), To: at.Add(24 * time.Hour), Limit: 1, Desc: desc, After: after,
			}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			read, after = append(read, page.Events...), page.Next
		}
		if len(read) != 4 {
			t.Errorf("descending %t: read %+v", desc, read)
		}
	}
	if report := all(t, r.auditor(t, nil)); report.Targets != 1 || report.Right != 1 {
		t.Errorf("the next audit: %+v", report)
	}
}
