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
	"github.com/hotshard/hotshard/internal/test/enginetest"
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

// TestFewFragmentsHaveNoSum checks that a sum is stored only from one fragment above the limit on. At rest it has
// the folds of a container that has cached its absence.
func TestFewFragmentsHaveNoSum(t *testing.T) {
	a := calm(t, 20)
	a.score1("p0", 1)
	a.fold()
	a.rest()
	if _, ok := a.sum(); ok {
		t.Fatal("there is a sum of few fragments")
	}
	for _, h := range a.containers {
		h.rechecks.fewFragments = 3
	}
	a.cuts[0] = append(a.cuts[0], len(a.streams[0])) // a fourth fragment
	for i := 20; len(a.streams[0]) == a.done[0]; i++ {
		a.score1(fmt.Sprint("p", i), -1000)
	}
	a.by(a.containers[0])
	i := a.stream("p1") // by a container that caches from now on that there is no sum
	a.score1("p1", -1001)
	a.by(a.containers[1])
	a.pass(recheck - 2*time.Second)
	a.score1("p1", -1002)
	a.by(a.containers[1])
	a.pass(3 * time.Second)
	a.task()
	a.holdsSum(true)
	a.score1("p1", -1003)
	a.by(a.containers[1])
	if a.done[i] != len(a.streams[i]) {
		t.Fatal("the last record is not folded")
	}
	a.rest()
	a.holdsSum(true)
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

// TestFragmentsMergedDuringARefresh checks that each record is in the sum once, although a merge moves it
// during the refresh.
func TestFragmentsMergedDuringARefresh(t *testing.T) {
	a := summed(t)
	one := a.containers[0]
	secondPartition := func(in any) bool {
		query, ok := in.(*dynamodb.QueryInput)
		return ok && dynamo.Text(query.ExpressionAttributeValues, ":pk") == a.period().Key().Partitions[1]
	}
	one.tops.client = beforeFirst(a.db, secondPartition, a.mergeAll)
	a.score1("p11", -1100)
	a.by(a.containers[1])
	for _, h := range a.containers {
		h.rechecks.fewFragments = 0 // the merged one is enough for a sum
	}
	if got := a.runs(one); !strings.Contains(got, `"looked":0,"failed":0,"later":1`) {
		t.Errorf("the refresh answered %s, want the sum later", got)
	}
	a.rest()
	a.holdsSum(true)
}

// halfMerged is a client whose queries return half of a merge: the emptied fragments, or the merged one.
type halfMerged struct {
	Client
	before map[string]dynamo.Item // the fragments, by key
	merged bool                   // the merged fragment is returned
}

func place(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + " " + dynamo.Text(it, schema.SK)
}

func (h *halfMerged) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := h.Client.Query(ctx, in, o...)
	if err != nil || !strings.HasPrefix(dynamo.Text(in.ExpressionAttributeValues, ":pk"), "L#") {
		return out, err
	}
	var half []dynamo.Item
	for _, it := range out.Items {
		if merged := strings.HasSuffix(dynamo.Text(it, schema.SK), schema.MergedPart); merged != h.merged {
			it = h.before[place(it)]
		}
		if it != nil {
			half = append(half, it)
		}
	}
	out.Items = half
	return out, nil
}

// TestHalfAMergeIsNoSum checks that a refresh which reads half of a merge stores nothing, and that the sum is right
// at rest. A query is not isolated from a transaction.
func TestHalfAMergeIsNoSum(t *testing.T) {
	for _, merged := range []bool{false, true} {
		a := summed(t)
		one := a.containers[0]
		for _, h := range a.containers {
			h.rechecks.fewFragments = 0
		}
		a.score1("p11", -1100)
		a.by(a.containers[1])
		a.pass(recheck + time.Second)
		half := &halfMerged{Client: a.db, before: map[string]dynamo.Item{}, merged: merged}
		for _, pk := range a.period().Key().Partitions {
			for _, it := range enginetest.Query(t, a.db, a.names.Rollups, pk) {
				half.before[place(it)] = it
			}
		}
		before, _ := a.sum()
		a.mergeAll()
		client := one.tops.client
		one.tops.client = half
		if out, err := one.Invoke(t.Context(), []byte(BoardsTask)); err != nil || !strings.Contains(string(out), `"failed":0,"later":1`) {
			t.Errorf("merged fragment returned: %t: the task answered %s, %v; want the sum later", merged, out, err)
		}
		if sum, ok := a.sum(); !ok || !sum.Same(before) {
			t.Errorf("merged fragment returned: %t: a sum of half a merge is stored", merged)
		}
		one.tops.client = client
		a.rest()
		a.holdsSum(true)
	}
}

// TestOldestSumsFirst checks that a run refreshes at most maxSums sums, the oldest notes first, and that the next
// run refreshes the others.
func TestOldestSumsFirst(t *testing.T) {
	a := calm(t, 1)
	a.rest()
	const more = 5
	for i := range maxSums + more {
		require.NoError(t, NoteSum(t.Context(), a.db, a.names.Rollups, fmt.Sprint("b", i), "all", a.clock.Add(-time.Duration(i)*time.Millisecond)))
	}
	for _, want := range []string{fmt.Sprintf(`{"looked":%d,"failed":0,"later":%d,`, maxSums, more), fmt.Sprintf(`{"looked":%d,"failed":0,"later":0,`, more)} {
		if got := a.runs(a.containers[0]); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
		for i := range more {
			pk, sk := schema.SumNoteKey(fmt.Sprint("b", i), "all")
			it, err := dynamo.Get(t.Context(), a.db, a.names.Rollups, pk, sk)
			if err != nil || (len(it) > 0) != strings.Contains(want, `"later":5`) {
				t.Errorf("note %d of the newest after %s: %v, %v", i, want, it, err)
			}
		}
	}
}

// TestDamagedFragmentEmptiesTheSum checks that no rank is read from a sum that can't be refreshed.
func TestDamagedFragmentEmptiesTheSum(t *testing.T) {
	a := summed(t)
	streamShard, _ := a.shard(a.stream("p9"), 0)
	a.damage(schema.HistogramPrefix+streamShard, map[string]types.AttributeValue{schema.HistogramCells: &types.AttributeValueMemberB{Value: []byte("x")}})
	require.NoError(t, NoteSum(t.Context(), a.db, a.names.Rollups, a.name, "all", a.clock))
	if got := a.runs(a.containers[0]); !strings.Contains(got, "adding up the fragments") && !strings.Contains(got, `"failed":1`) {
		t.Errorf("the refresh: %s", got)
	}
	if _, ok := a.sum(); ok {
		t.Error("the sum counts, though a fragment is damaged")
	}
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
