package fold

import (
	"fmt"
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

// TestOneUpdatePerBatch checks that a container which has cached a fragment folds a batch in one update. The
// first fold of another container costs one failed condition.
func TestOneUpdatePerBatch(t *testing.T) {
	h, db := newEvents(t, nil)
	var one, two counts
	h.events = newEventFolder(one.client(db), Settings{RollupsTable: h.table}, h.now)
	other := newHandler(t, Settings{RollupsTable: h.table, Rules: h.rules}, two.client(db))
	sequence := 0
	batch := func() []byte {
		var list []happening
		for range 5 {
			sequence++
			list = append(list, inserted("e", fmt.Sprint(sequence), `{"M":{"t":{"N":"1"}}}`, fmt.Sprint(sequence)))
		}
		return windowed("s", list...)
	}
	for range 4 {
		last := batch()
		must(t, h, last)
		must(t, h, last) // a redelivery needs no update
	}
	if one.updates != 4 || one.failed != 0 {
		t.Errorf("%d updates, %d failed; want 4 and none", one.updates, one.failed)
	}
	for range 3 {
		must(t, other, batch())
	}
	if two.updates != 4 || two.failed != 1 {
		t.Errorf("the other container: %d updates, %d failed conditions; want 4 and 1", two.updates, two.failed)
	}
	if got := rollups(t, db, h.table, "e")["2026-01-31T22"]; got.Events != 35 {
		t.Errorf("%d events, want 35", got.Events)
	}
}
