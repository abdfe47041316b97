package fold

import (
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

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

// counts has the number of updates, and how many of them failed.
type counts struct {
	mu              sync.Mutex
	updates, failed int
}

// client returns a client whose updates are counted.
func (c *counts) client(db *dynamodb.Client) *dynamodb.Client {
	return enginetest.Around(db, func(in any, call func() error) error {
		err := call()
		if _, update := in.(*dynamodb.UpdateItemInput); update {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.updates++
			if err != nil {
				c.failed++
			}
		}
		return err
	})
}
