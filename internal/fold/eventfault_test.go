package fold

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestWithoutAStreamShard: a mapping without a tumbling window is refused as far as
// events go, and counters go on.
func TestWithoutAStreamShard(t *testing.T) {
	h, db := newEvents(t, nil)
	event := inserted("e", "1", `{"M":{}}`, "7")
	unwindowed := []byte(`{"Records":[` + write{counter: "c", rev: 1, value: 5}.record() + "," + event.record() + `]}`)
	failed, err := hand(h, unwindowed)
	if err != nil || len(failed) != 1 || !failed["7"] {
		t.Fatalf("failed: %v, %v", failed, err)
	}
	if got := rollups(t, db, h.table, "e"); len(got) != 0 {
		t.Fatalf("folded: %+v", got)
	}
	must(t, newHandler(t, Settings{RollupsTable: h.table}, db), unwindowed) // without rules there is nothing to refuse
}

// counting counts updates, and how many of them were refused.
type counting struct {
	Client
	mu               sync.Mutex
	updates, refused int
}

func (c *counting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, o...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates++
	if err != nil {
		c.refused++
	}
	return out, err
}

// TestOneUpdateABatch: what a container remembers costs it neither reads nor
// failed conditions; another container's first fold costs one of those.
func TestOneUpdateABatch(t *testing.T) {
	h, db := newEvents(t, nil)
	one, two := &counting{Client: db}, &counting{Client: db}
	h.events = newEventFolder(one, Settings{RollupsTable: h.table}, h.now)
	other := newHandler(t, Settings{RollupsTable: h.table, Rules: h.rules}, two)
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
		must(t, h, last) // again: nothing to do
	}
	if one.updates != 4 || one.refused != 0 {
		t.Errorf("%d updates, %d refused; want 4 and none", one.updates, one.refused)
	}
	for range 3 {
		must(t, other, batch())
	}
	if two.updates != 4 || two.refused != 1 {
		t.Errorf("the other container: %d updates, %d refused; want 4 and 1", two.updates, two.refused)
	}
	if got := rollups(t, db, h.table, "e")["2026-01-31T22"]; got.Events != 35 {
		t.Errorf("%d events, want 35", got.Events)
	}
}
