package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
)

// sum returns the stored sum of the histogram; ok is false if none counts.
func (a *arena) sum() (sum board.Histogram, ok bool) {
	a.t.Helper()
	read, err := a.store().Read(context.Background(), a.period().SumKey())
	if err = errors.Join(err, parts.Damage(read)); err != nil {
		a.t.Fatal(err)
	}
	if len(read) == 0 || !read[0].Counts(a.clock) {
		return sum, false
	}
	return read[0].Value, true
}

// summed returns an arena at rest with a stored sum, and 20 players, more than the top holds.
func summed(t *testing.T) *arena {
	t.Helper()
	a := calm(t, 20)
	for _, h := range a.containers {
		h.rechecks.fewFragments = 1
	}
	a.rest()
	a.score1("p0", 1) // so that the containers have cached that the top is not whole
	a.fold()
	a.rest()
	a.holdsSum(true)
	return a
}

// holdsSum checks that there is a sum, and whether it has all folded records.
func (a *arena) holdsSum(want bool) {
	a.t.Helper()
	if sum, ok := a.sum(); !ok || sum.Same(a.cells()) != want {
		a.t.Fatalf("there is a sum: %t; it has all folded records: %t, want %t", ok, sum.Same(a.cells()), want)
	}
}

// runs has one container run the task after the recheck age.
func (a *arena) runs(h *Handler) string {
	a.pass(recheck + time.Second)
	out, err := h.Invoke(context.Background(), []byte(BoardsTask))
	return fmt.Sprint(string(out), err)
}

// TestSumFollowsItsFragments checks that the sum at rest has folds that wrote no note, since an earlier note
// covers them.
func TestSumFollowsItsFragments(t *testing.T) {
	a := summed(t)
	one, other := a.containers[0], a.containers[1]
	for round, h := range []*Handler{one, other, other, one, one} {
		a.score1(fmt.Sprint("p", 10+round), -1000-round)
		a.by(h)
		a.pass(4 * time.Second)
	}
	a.holdsSum(false)
	if n := a.notes(sumNote); n != 1 {
		t.Errorf("%d notes of sums, want one", n)
	}
	a.rest()
	a.holdsSum(true)
	a.compare()
}

// TestTwoRefreshers checks that a slow refresh stores no older sum over a newer one, whose note is deleted.
func TestTwoRefreshers(t *testing.T) {
	a := summed(t)
	one, other := a.containers[0], a.containers[1]
	a.score1("p11", -1100)
	a.by(one)
	one.tops.client = beforeFirst(a.db, updateOf(schema.SumSK), func() {
		a.score1("p12", -1200)
		a.by(other)
		a.pass(recheck)
		if got := a.runs(other); !strings.HasPrefix(got, `{"looked":1,"failed":0`) {
			t.Errorf("the faster task answered %s, want one sum done", got)
		}
		a.holdsSum(true)
	})
	if got := a.runs(one); !strings.Contains(got, `"looked":0,"failed":0,"later":1`) {
		t.Errorf("the slow task answered %s, want the sum later", got)
	}
	a.holdsSum(true)
	a.rest()
	a.compare()
}

// ledger is a client that stores a sum and a note, and counts calls.
type ledger struct {
	Client
	sum, note                 dynamo.Item
	noteReads, sumReads, puts int
}

func (l *ledger) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if in.Key[schema.SK].(*types.AttributeValueMemberS).Value == schema.SumSK {
		l.sumReads++
		return &dynamodb.GetItemOutput{Item: l.sum}, nil
	}
	l.noteReads++
	return &dynamodb.GetItemOutput{Item: l.note}, nil
}

func (l *ledger) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	l.puts++
	l.note = dynamo.Item{schema.NoteLast: in.ExpressionAttributeValues[":now"]}
	return &dynamodb.UpdateItemOutput{}, nil
}

// TestWhatNotesOfSumsCost counts an hour's reads and writes for a board's sum. Each stream shard has a container of
// its own, which folds once a second.
func TestWhatNotesOfSumsCost(t *testing.T) {
	for _, c := range []struct{ shards, notes, noteReads int }{{4, 240, 960}, {160, 240, 38_400}} {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		client := &ledger{sum: dynamo.Item{schema.RollupSequence: dynamo.String("0"), schema.Version: dynamo.Decimal(schema.BoardVersion), schema.HistogramCells: board.Histogram{}.Attributes()[schema.HistogramCells]}}
		var tops []*topFolder
		for range c.shards {
			tops = append(tops, newTopFolder(client, Settings{RollupsTable: "r", BoardRecheck: recheck}, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler)))
		}
		s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}}
		for range 3600 {
			for _, f := range tops {
				require.NoError(t, f.noteFolded(t.Context(), s, false))
			}
			now = now.Add(time.Second)
		}
		t.Logf("%d stream shards: %d notes of one write unit, %d reads of half a unit, and %d of the sum", c.shards, client.puts, client.noteReads, client.sumReads)
		if client.puts != c.notes || client.sumReads != c.notes || client.noteReads > c.noteReads {
			t.Errorf("%d notes, %d reads of the sum and %d of notes; want %d, %[4]d and at most %[5]d", client.puts, client.sumReads, client.noteReads, c.notes, c.noteReads)
		}
	}
}

// TestLateNoteKeepsTheNewer checks that a late note of a sum does not set back the time of a newer one.
func TestLateNoteKeepsTheNewer(t *testing.T) {
	a := calm(t, 0)
	for _, late := range []time.Duration{0, -20 * time.Second} {
		require.NoError(t, NoteSum(t.Context(), a.db, a.names.Rollups, a.name, "all", a.clock.Add(late)))
	}
	notes, err := a.containers[0].rechecks.notes(t.Context())
	if err != nil || len(notes) != 1 || notes[0].last != a.clock.UnixMilli() || notes[0].kind != sumNote {
		t.Errorf("notes %+v, %v; want one of a sum, of %v", notes, err, a.clock)
	}
}
