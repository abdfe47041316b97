package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// topless is a client that doesn't store tops.
type topless struct {
	Client
	err     error // nil: others were faster
	refused int
}

func (r *topless) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.Key[schema.SK].(*types.AttributeValueMemberS).Value != schema.TopSK {
		return r.Client.UpdateItem(ctx, in, o...)
	}
	r.refused++
	if r.err != nil {
		return nil, r.err
	}
	out, err := r.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: in.TableName, Key: in.Key})
	if err != nil {
		return nil, err
	}
	return nil, &types.ConditionalCheckFailedException{Item: out.Item}
}

// TestABusyTop holds up nothing: it is noted, and the task makes it right.
func TestABusyTop(t *testing.T) {
	for name, err := range map[string]error{"lost": nil, "throttled": &types.ProvisionedThroughputExceededException{}} {
		a := calm(t, 8)
		a.rest()
		h := a.containers[0]
		client := &topless{Client: a.db, err: err}
		h.tops.client = client
		a.score1("p9", 7)
		a.leave("p1")
		a.score1("p2", -500)
		for i := range a.streams {
			if from := a.done[i]; from < len(a.streams[i]) {
				id, _ := a.shard(i, from)
				must(t, h, batchOf(id, append(a.streams[i][from:], write{counter: name, rev: int64(i + 1), value: 5}.record())...))
				a.done[i] = len(a.streams[i])
			}
		}
		if client.refused == 0 || a.first() == "p9" || a.noted() != 1 {
			t.Errorf("%s: %d refused, %d notes; the first is %q", name, client.refused, a.noted(), a.first())
		}
		h.tops.client = a.db
		a.rest()
		a.compare()
	}
}

// throttledCells is a client that throttles the first updates of histograms.
type throttledCells struct {
	Client
	left int
}

func (c *throttledCells) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if strings.HasPrefix(in.Key[schema.SK].(*types.AttributeValueMemberS).Value, schema.HistogramPrefix) && c.left > 0 {
		c.left--
		return nil, &types.ProvisionedThroughputExceededException{}
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

// TestThrottledCellsFailNoBatch checks that a throttled fold of a histogram waits within its delivery, and
// counts each entry once then.
func TestThrottledCellsFailNoBatch(t *testing.T) {
	a := calm(t, 8)
	h := a.containers[0]
	client := &throttledCells{Client: a.db, left: 4}
	h.cells = newCellsFolder(client, Settings{RollupsTable: h.table}, h.now)
	a.score1("p9", 7)
	i := a.stream("p9")
	id, _ := a.shard(i, a.done[i])
	must(t, h, batchOf(id, append(a.streams[i][a.done[i]:], write{counter: "other", rev: 1, value: 5}.record())...))
	a.done[i] = len(a.streams[i])
	if client.left > 0 {
		t.Error("no fold was throttled")
	}
	a.rest()
	a.compare()
}

// slow is a client that has something happen before the first top is stored.
type slow struct {
	Client
	before func()
}

func (s *slow) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if before := s.before; before != nil && in.Key[schema.SK].(*types.AttributeValueMemberS).Value == schema.TopSK {
		s.before = nil
		before()
	}
	return s.Client.UpdateItem(ctx, in, o...)
}

// TestANoteThatWasClearedTooSoon, by a look at the top as it was before the store, is
// there again after it.
func TestANoteThatWasClearedTooSoon(t *testing.T) {
	a := calm(t, 20)
	a.rest()
	a.size = 15 // raised
	a.containers[0].tops.client = &slow{a.db, func() {
		a.size = 5 // and lowered
		a.pass(recheck + time.Second)
		if got := a.task(); got != `{"looked":2,"failed":0,"later":0,"moved":0}` || a.noted() != 0 {
			t.Errorf("%s, %d notes; the test wants none", got, a.noted())
		}
		a.size = 15
	}}
	must(t, a.containers[0], batchOf("shardId-0-0", a.streams[0][0])) // a record that is known already
	if n := len(a.top().Entries()); n < 15 || a.noted() != 1 {
		t.Errorf("%d held, %d notes", n, a.noted())
	}
}

// TestLooksThatFail are due again after the recheck age: others come before them.
func TestLooksThatFail(t *testing.T) {
	a := calm(t, 3)
	a.rest()
	for _, h := range a.containers {
		h.tops.boards = broken{h.tops.boards, fmt.Errorf("reading: %w", shard.ErrUnavailable)}
	}
	if err := a.containers[0].tops.note(t.Context(), &boardChanges{Period: parts.Period{Board: a.name, Label: "all"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a.clock = a.clock.Add(recheck + time.Second)
		if out, err := a.containers[0].Invoke(t.Context(), []byte(BoardsTask)); !errors.Is(err, errAllFailed) {
			t.Errorf("a run all of whose looks fail: %s, %v", out, err)
		}
		if got := a.task(); got != `{"looked":0,"failed":0,"later":1,"moved":0}` {
			t.Errorf("at once after it: %s", got)
		}
	}
}

// brokenFor answers readings of one board with an error.
type brokenFor struct {
	Boards
	board string
}

func (b brokenFor) Entries(ctx context.Context, board, label string, players []string, now time.Time) (map[string]boards.Entry, error) {
	if board == b.board {
		return nil, shard.ErrUnavailable
	}
	return b.Boards.Entries(ctx, board, label, players, now)
}

func (b brokenFor) Settings(ctx context.Context, board string, now time.Time) (boards.Settings, error) {
	if board == b.board {
		return boards.Settings{}, shard.ErrUnavailable
	}
	return b.Boards.Settings(ctx, board, now)
}

// TestSomeLooksFail: the run is done, and says how many failed.
func TestSomeLooksFail(t *testing.T) {
	a := calm(t, 3)
	a.rest()
	h := a.containers[0]
	var logs bytes.Buffer
	h.log = slog.New(slog.NewTextHandler(&logs, nil))
	for _, name := range []string{a.name, "b"} {
		if err := h.tops.note(t.Context(), &boardChanges{Period: parts.Period{Board: name, Label: "all"}}); err != nil {
			t.Fatal(err)
		}
	}
	h.tops.boards = brokenFor{h.tops.boards, a.name}
	a.clock = a.clock.Add(recheck + time.Second)
	out, err := h.Invoke(t.Context(), []byte(BoardsTask))
	if err != nil || string(out) != `{"looked":2,"failed":1,"later":0,"moved":0}` {
		t.Errorf("%s, %v", out, err)
	}
	if want := `msg="boards task done" looked=2 failed=1 later=0`; !strings.Contains(logs.String(), want) {
		t.Errorf("logged %s, want %s", &logs, want)
	}
}

// TestTheOldestNotesComeFirst, where there are more than a run looks at.
func TestTheOldestNotesComeFirst(t *testing.T) {
	a := calm(t, 0)
	f := a.containers[0].rechecks
	f.maxRechecks = lane.Runs(60, maxRechecks)
	for i := range f.maxRechecks + 20 {
		a.clock = a.clock.Add(time.Second)
		if err := f.note(t.Context(), &boardChanges{Period: parts.Period{Board: fmt.Sprint("n", shard.Calculated(fmt.Sprint(i), 1<<30)), Label: "all"}}); err != nil {
			t.Fatal(err)
		}
	}
	newest := a.clock
	a.clock = a.clock.Add(recheck)
	if got := a.task(); got != fmt.Sprintf(`{"looked":%d,"failed":0,"later":20,"moved":0}`, f.maxRechecks) {
		t.Errorf("looked: %s", got)
	}
	notes, err := f.notes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		if age := newest.Sub(time.UnixMilli(n.since)); age > 20*time.Second {
			t.Errorf("a note of %v before the last was left", age)
		}
	}
}
