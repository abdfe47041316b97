package fold

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// withoutTops returns a client that fails updates of tops, and counts them. A nil err is a failed condition.
func (a *arena) withoutTops(err error, failed *int) *dynamodb.Client {
	tops := updateOf(schema.TopSK)
	return enginetest.Before(a.db, func(in any) error {
		switch {
		case !tops(in):
			return nil
		case err != nil:
			*failed++
			return err
		}
		*failed++
		update := in.(*dynamodb.UpdateItemInput)
		stored := enginetest.Get(a.t, a.db, *update.TableName, dynamo.Text(update.Key, schema.PK), schema.TopSK)
		return &types.ConditionalCheckFailedException{Item: stored}
	})
}

// TestBusyTop checks that a top which can't be stored blocks no other record. It is noted, and the task repairs
// it.
func TestBusyTop(t *testing.T) {
	for name, err := range map[string]error{"lost": nil, "throttled": &types.ProvisionedThroughputExceededException{}} {
		a := calm(t, 8)
		a.rest()
		h := a.containers[0]
		failed := 0
		h.tops.client = a.withoutTops(err, &failed)
		a.score1("p9", 7)
		a.leave("p1")
		a.score1("p2", -500)
		for i := range a.streams {
			if from := a.done[i]; from < len(a.streams[i]) {
				id := shardID(i)
				must(t, h, enginetest.WindowedBatch(id, append(a.streams[i][from:], write{counter: name, rev: int64(i + 1), value: 5}.record())...))
				a.done[i] = len(a.streams[i])
			}
		}
		if failed == 0 || a.first() == "p9" || a.noted() != 1 {
			t.Errorf("%s: %d failed updates, %d notes, first %q; want one note, and not p9", name, failed, a.noted(), a.first())
		}
		h.tops.client = a.db
		a.rest()
		a.compare()
	}
}

// TestFailedRechecks checks that a failed recheck is due again after the recheck age, so that it delays no other.
func TestFailedRechecks(t *testing.T) {
	a := calm(t, 3)
	a.rest()
	for _, h := range a.containers {
		h.tops.boards = broken{h.tops.boards, fmt.Errorf("reading: %w", shard.ErrUnavailable)}
	}
	require.NoError(t, a.containers[0].tops.noteRecheck(t.Context(), &boardChanges{Period: a.period()}))
	for range 2 {
		a.clock = a.clock.Add(recheck + time.Second)
		if out, err := a.containers[0].Invoke(t.Context(), []byte(BoardsTask)); !errors.Is(err, errAllFailed) {
			t.Errorf("a run whose rechecks all fail: %s, %v; want errAllFailed", out, err)
		}
		if got := a.task(); got != `{"looked":0,"failed":0,"later":1,"moved":0}` {
			t.Errorf("the next run: %s, want the note later", got)
		}
	}
}

// TestOldestNotesFirst checks that a run rechecks the oldest notes if there are more than it may recheck.
func TestOldestNotesFirst(t *testing.T) {
	a := calm(t, 0)
	f := a.containers[0].rechecks
	f.maxRechecks = require.Runs(60, maxRechecks)
	for i := range f.maxRechecks + 20 {
		a.clock = a.clock.Add(time.Second)
		require.NoError(t, f.noteRecheck(t.Context(), &boardChanges{Period: parts.Period{Board: fmt.Sprint("n", shard.Calculated(fmt.Sprint(i), 1<<30)), Label: "all"}}))
	}
	newest := a.clock
	a.clock = a.clock.Add(recheck)
	if got := a.task(); got != fmt.Sprintf(`{"looked":%d,"failed":0,"later":20,"moved":0}`, f.maxRechecks) {
		t.Errorf("the task answered %s, want %d looked and 20 later", got, f.maxRechecks)
	}
	notes, err := f.notes(t.Context())
	require.NoError(t, err)
	for _, n := range notes {
		if age := newest.Sub(time.UnixMilli(n.since)); age > 20*time.Second {
			t.Errorf("a note is left that is %v older than the newest", age)
		}
	}
}
