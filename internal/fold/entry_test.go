package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// recordOf returns a record with number attributes in its images, as "rev 7, value 3"; "" is no image.
func recordOf(t *testing.T, event, pk, sk, sequence, old, newest string) *ddbstream.Record {
	t.Helper()
	text := fmt.Sprintf(`{"eventName":%q,"dynamodb":{"SequenceNumber":%q,"Keys":{"pk":{"S":%q},"sk":{"S":%q}}`, event, sequence, pk, sk)
	for name, image := range map[string]string{"OldImage": old, "NewImage": newest} {
		if image == "" {
			continue
		}
		var list []string
		for attribute := range strings.SplitSeq(image, ", ") {
			name, n, _ := strings.Cut(attribute, " ")
			list = append(list, fmt.Sprintf(`%q:{"N":%q}`, name, n))
		}
		text += fmt.Sprintf(`,%q:{%s}`, name, strings.Join(list, ","))
	}
	batch, err := ddbstream.Decode(enginetest.WindowedBatch("s", text+"}}"))
	require.NoError(t, err)
	return &batch.Records[0]
}

// TestEntryChanges checks the change that each record makes to an entry.
func TestEntryChanges(t *testing.T) {
	const one, two, late = "score 5, at 1000, rev 7, row_rev 7", "score 6.5, at 2000, rev 8, row_rev 8, expires_at 5000", "score 6, at 2000, rev 8, row_rev 7"
	for _, c := range []struct{ event, old, newest, want string }{
		{"INSERT", "", one, "5 at 1000, rev 7; from - to 5; outdated false to false; until ever"},
		{"INSERT", "", late, "6 at 2000, rev 8; from - to 6; outdated false to true; until ever"},
		{"MODIFY", one, two, "6.5 at 2000, rev 8; from 5 to 6.5; outdated false to false; until 5000"},
		{"MODIFY", one, late, "6 at 2000, rev 8; from 5 to 6; outdated false to true; until ever"},
		{"MODIFY", late, two, "6.5 at 2000, rev 8; from 6 to 6.5; outdated true to false; until 5000"},
		{"REMOVE", two, "", "gone, rev 8; from 6.5 to -; outdated false to false; until 5000"},
		{"REMOVE", late, "", "gone, rev 8; from 6 to -; outdated true to false; until ever"},
		{"INSERT", "", "", "it lacks the number score"},
		{"MODIFY", "", one, "its old image: it lacks the number score"},
		{"INSERT", "", "at 1000, rev 7, row_rev 7", "it lacks the number score"},
		{"INSERT", "", "score 5, rev 7, row_rev 7", "it lacks the number score"},
		{"INSERT", "", "score 5, at 1000, row_rev 7", "it lacks the number score"},
		{"INSERT", "", "score 5, at 1000, rev 7", "it lacks the number score"},
		{"INSERT", "", "score 1e30, at 1000, rev 7, row_rev 7", "is not a number between"},
		{"INSERT", "", "score 5, at -1, rev 7, row_rev 7", "its at is"},
		{"INSERT", "", "score 5, at 0.5, rev 7, row_rev 7", "its at is"},
		{"INSERT", "", "score 5, at 0, rev 0, row_rev 0", "5 at 0, rev 0; from - to 5; outdated false to false; until ever"},
		{"INSERT", "", "score 5, at 1, rev -1, row_rev 7", "its rev is"},
		{"INSERT", "", "score 5, at 1, rev x, row_rev 7", "its rev is"},
		{"INSERT", "", "score 5, at 1, rev 4611686018427387903, row_rev 4611686018427387903", "5 at 1, rev 4611686018427387903; from - to 5; outdated false to false; until ever"},
		{"INSERT", "", "score 5, at 1, rev 4611686018427387904, row_rev 7", "its rev is"},
		{"INSERT", "", "score 5, at 1, rev 7, row_rev 7, expires_at 0.5", "its expires_at is"},
	} {
		got, err := entryChangeOf(recordOf(t, c.event, "L#b#all#0", "p", "9", c.old, c.newest), "p")
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %q to %q: %v, want %q", c.event, c.old, c.newest, err, c.want)
			}
			continue
		}
		if text := showChange(got); text != c.want || got.sequence != "9" || got.paddedSequence != strings.Repeat("0", 39)+"9" || got.state.Player != "p" {
			t.Errorf("%s of %q to %q: %s (%+v), want %s", c.event, c.old, c.newest, text, got, c.want)
		}
	}
	if _, err := entryChangeOf(recordOf(t, "INSERT", "L#b#all#0", "p", strings.Repeat("9", 41), "", one), "p"); err == nil {
		t.Error("a sequence number of 41 digits is accepted")
	}
}

func showChange(c entryChange) string {
	score := func(s *boards.Score) string {
		if s == nil {
			return "-"
		}
		return s.String()
	}
	state, until := fmt.Sprint(c.state.Score, " at ", c.state.At.UnixMilli()), "ever"
	if !c.state.Present {
		state = "gone"
	}
	if !c.lifetime.end.IsZero() {
		until = fmt.Sprint(c.lifetime.end.Unix())
	}
	return fmt.Sprintf("%s, rev %d; from %s to %s; outdated %t to %t; until %s", state, c.state.Rev, score(c.from), score(c.to), c.wasOutdated, c.isOutdated, until)
}

// TestRaisedSizes checks which records raise a board's size.
func TestRaisedSizes(t *testing.T) {
	for _, c := range []struct {
		event, pk, old, newest string
		want                   bool
	}{
		{"MODIFY", "LS#b", "size 10", "size 11", true}, {"MODIFY", "LS#b", "size 10", "size 10", false}, {"MODIFY", "LS#b", "size 11", "size 10", false},
		{"MODIFY", "LS#b", "v 1", "size 1", true}, {"INSERT", "LS#b", "", "size 10", false}, {"MODIFY", "L#b", "size 10", "size 11", false},
	} {
		pk := strings.Replace(c.pk, "LS#", schema.BoardPrefix, 1)
		if name, ok := raisedBoard(recordOf(t, c.event, pk, "-", "1", c.old, c.newest)); ok != c.want || ok && name != "b" {
			t.Errorf("%+v: %q, %t", c, name, ok)
		}
		changes, raised := changesByBoard{}, 0
		_ = changes.addRecord(recordOf(t, c.event, pk, "-", "1", c.old, c.newest))
		for _, of := range changes {
			raised += len(of.raised)
		}
		if (raised == len(boards.Periods())) != c.want || (raised > 0) != c.want {
			t.Errorf("%+v: the sizes of %d periods are raised", c, raised)
		}
	}
}

func TestLongerLifetime(t *testing.T) {
	at := func(seconds int64) lifetime { return lifetime{true, time.Unix(seconds, 0)} }
	none, ever := lifetime{}, lifetime{known: true}
	for _, c := range []struct{ a, b, want lifetime }{
		{none, none, none}, {none, at(5), at(5)}, {at(5), none, at(5)}, {none, ever, ever}, {ever, none, ever},
		{at(5), at(6), at(6)}, {at(6), at(5), at(6)}, {at(5), ever, ever}, {ever, at(5), ever},
	} {
		if got := c.a.longer(c.b); got != c.want {
			t.Errorf("%+v with %+v is %+v, want %+v", c.a, c.b, got, c.want)
		}
	}
}

// TestChangesOfABatch checks the latest state of each player, whose rows are newly outdated, and which records fail.
func TestChangesOfABatch(t *testing.T) {
	change := func(player string, rev int64, was, is bool) entryChange {
		return entryChange{state: parts.EntryState{Place: boards.Place{Player: player}, Rev: rev}, wasOutdated: was, isOutdated: is, sequence: fmt.Sprint(rev)}
	}
	s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}, entries: []entryChange{
		change("a", 1, false, true), change("b", 2, false, false), change("a", 3, true, true), change("c", 4, true, false), change("b", 5, false, true),
	}}
	var newest, deferred []int64
	for _, state := range s.newestStates() {
		newest = append(newest, state.Rev)
	}
	for _, c := range s.outdatedRows() {
		deferred = append(deferred, c.state.Rev)
	}
	if !slices.Equal(newest, []int64{3, 5, 4}) || !slices.Equal(deferred, []int64{1, 5}) || !slices.Equal(s.sequences(), []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("newest %v, deferred %v, sequences %v", newest, deferred, s.sequences())
	}
	if err := s.damagedErr(); err != nil {
		t.Errorf("without damage: %v", err)
	}
	s.setDamaged("a", errors.New("torn"))
	s.setDamaged("c", errors.New("torn"))
	s.setDamaged("c", nil)
	err := s.damagedErr()
	if some, ok := errors.AsType[*partialError](err); !ok || !slices.Equal(some.sequences, []string{"1", "3"}) || !isPermanent(err) || !strings.Contains(err.Error(), "torn") {
		t.Errorf("a damaged: %+v", err)
	}
	r := recordOf(t, "REMOVE", "L#b#all#p", "b", "1", "score 5, at 1000, rev 7, row_rev 7", "")
	for _, r.Expired = range []bool{false, true} { // the summaries expire with the entries
		changes := changesByBoard{}
		if err := changes.addRecord(r); err != nil || (len(changes) == 0) != r.Expired {
			t.Errorf("a removal, expired %t: %v, %v", r.Expired, changes, err)
		}
	}
}

// TestReachIsCached checks for how long a fold trusts a cached reach, and which changes lie beyond it.
func TestReachIsCached(t *testing.T) {
	score := func(text string) *boards.Score {
		s, err := boards.ParseScore(text)
		require.NoError(t, err)
		return &s
	}
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		recheck, age time.Duration
		from, to     *boards.Score
		want         bool
	}{
		{30 * time.Second, 0, score("4"), score("4.9"), true},
		{30 * time.Second, 10 * time.Second, nil, score("4.9"), true},
		{30 * time.Second, 10*time.Second + 1, nil, score("4.9"), false},
		{60 * time.Second, 10*time.Second + 1, nil, score("4.9"), false},
		{15 * time.Second, 5 * time.Second, score("4"), nil, true},
		{15 * time.Second, 5*time.Second + 1, score("4"), nil, false},
		{30 * time.Second, -1, nil, score("4"), false},
		{30 * time.Second, 0, score("5"), score("4"), false},
		{30 * time.Second, 0, score("4"), score("5"), false},
		{30 * time.Second, 0, nil, score("9"), false},
	} {
		f := newTopFolder(nil, Settings{BoardRecheck: c.recheck}, nil, func() time.Time { return now }, nil)
		s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}, entries: []entryChange{{from: c.from, to: c.to}}}
		if f.allBeyondReach(s) {
			t.Error("without a cached reach the top is not read")
		}
		f.cache.Set(s.PK(), cachedTop{1, parts.DownTo(boards.Place{Player: "p", Score: *score("5")}), now.Add(-c.age)})
		if got := f.allBeyondReach(s); got != c.want {
			t.Errorf("recheck %v, age %v, from %v to %v: %t", c.recheck, c.age, c.from, c.to, got)
		}
	}
	if maxReachAge > BoardRecheck/3 {
		t.Errorf("a reach of %v is trusted, want a third of %v at most", maxReachAge, BoardRecheck)
	}
}

// TestStoredNotes checks which items are notes, of what, and that others are errors.
func TestStoredNotes(t *testing.T) {
	const pk = "K"
	for _, c := range []struct {
		key     dynamo.Item
		players bool
		without string
		fails   string
	}{
		{dynamo.Key(schema.NoteKey("b", "all")), false, "", ""},
		{dynamo.Key(schema.RowsNoteKey("b", "all", "s", "7")), true, "", ""},
		{dynamo.Key(schema.RowsNoteKey("b", "all", "s", "7")), false, "", "set of strings"},
		{dynamo.Key(schema.NoteKey("b", "all")), false, schema.NoteLast, "is not a time"},
		{dynamo.Key(schema.NoteKey("b", "all")), false, schema.NoteSince, "is not a time"},
		{dynamo.Key(pk, "C#c#0"), false, "", "not a board's period"},
		{dynamo.Key(pk, "x"), false, "", "not a board's period"},
	} {
		it := c.key
		it[schema.NoteSince], it[schema.NoteLast] = dynamo.Number(3), dynamo.Number(4)
		delete(it, c.without)
		if c.players {
			it[schema.NotePlayers] = &types.AttributeValueMemberSS{Value: []string{"p", "q"}}
		}
		n, err := parseNote(it)
		if err != nil {
			if c.fails == "" || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v: %v, want %q", it, err, c.fails)
			}
			continue
		}
		if c.fails != "" || n.Board != "b" || n.Label != "all" || n.since != 3 || n.last != 4 || (n.players != nil) != c.players || c.players && len(n.players) != 2 || dynamo.Text(n.key, "sk") != dynamo.Text(it, "sk") {
			t.Errorf("%v: %+v", it, n)
		}
	}
}

// manyNotes is a rollups table with one more note of a board in each partition than a run reads.
type manyNotes struct{ Client }

func (manyNotes) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	_, sk := schema.NoteKey("b", "all")
	note := dynamo.Item{schema.PK: in.ExpressionAttributeValues[":pk"], schema.SK: dynamo.String(sk), schema.NoteSince: dynamo.Number(3), schema.NoteLast: dynamo.Number(4)}
	return &dynamodb.QueryOutput{Items: slices.Repeat([]dynamo.Item{note}, maxNotes+1)}, nil
}

// TestNotesOfARun checks that a run reads up to maxNotes notes of each partition.
func TestNotesOfARun(t *testing.T) {
	f := newRecheckTask(newTopFolder(manyNotes{}, Settings{}, nil, time.Now, slog.New(slog.DiscardHandler)))
	if notes, err := f.readNotes(t.Context()); err != nil || len(notes) != maxNotes*len(schema.NotePartitions()) {
		t.Errorf("%d notes, %v", len(notes), err)
	}
}

// TestHistogramsOfChanges checks what a change of an entry changes in a histogram.
func TestHistogramsOfChanges(t *testing.T) {
	five, err5 := boards.ParseScore("5")
	six, err6 := boards.ParseScore("6")
	require.NoError(t, errors.Join(err5, err6))
	for _, c := range []struct {
		change      entryChange
		total, late int64
	}{
		{entryChange{to: &five}, 1, 0}, {entryChange{to: &five, isOutdated: true}, 1, 1}, {entryChange{from: &five, to: &six, isOutdated: true}, 0, 1},
		{entryChange{from: &five, to: &six, wasOutdated: true, isOutdated: true}, 0, 0}, {entryChange{from: &five, wasOutdated: true}, -1, -1},
	} {
		client := &updates{}
		c.change.paddedSequence = "1"
		s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}, entries: []entryChange{c.change}}
		require.NoError(t, newCellsFolder(client, Settings{}, time.Now).fold(t.Context(), s, "s"))
		stored := dynamo.Item{}
		for name, value := range client.list[0].ExpressionAttributeValues {
			stored[strings.TrimPrefix(name, ":")] = value
		}
		if h, err := parts.StoredHistogram(stored); err != nil || h.Total() != c.total || h.Late() != c.late {
			t.Errorf("%+v: %d entries, %d late, %v", c.change, h.Total(), h.Late(), err)
		}
	}
}

// TestFailedStates checks that a summary's failed update is returned.
func TestFailedStates(t *testing.T) {
	for _, want := range []error{nil, errors.New("down")} {
		client := &updates{err: want}
		if err := FoldStates(t.Context(), client, "t", "c", map[int]State{1: {Rev: big.NewInt(1), Value: "2"}}, time.Now); !errors.Is(err, want) || len(client.list) != 1 {
			t.Errorf("%d updates, %v; want %v", len(client.list), err, want)
		}
	}
}

// TestNotesOfRows checks how players are divided among notes.
func TestNotesOfRows(t *testing.T) {
	f := &updates{}
	var players []string
	for i := range 201 {
		players = append(players, fmt.Sprint("p", i), "p0")
	}
	require.NoError(t, NoteRows(t.Context(), f, "t", parts.Period{Board: "b", Label: "all"}, "s", "7", players, time.UnixMilli(5)))
	var keys []string
	for _, in := range f.list {
		keys = append(keys, dynamo.Text(in.Key, schema.SK))
	}
	if len(f.list) != 3 || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != 3 {
		t.Errorf("%d notes with the keys %q, want 3", len(f.list), keys)
	}
	f.err = errors.New("down")
	if err := NoteRows(t.Context(), f, "t", parts.Period{Board: "b", Label: "all"}, "s", "7", players, time.UnixMilli(5)); err == nil {
		t.Error("a failed note is no error")
	}
	f.err = nil
	for _, outdated := range []bool{false, true} {
		d := &delivery{Handler: &Handler{tops: newTopFolder(f, Settings{}, nil, time.Now, nil)}, batch: &ddbstream.Batch{ShardID: "s"}}
		s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}, entries: []entryChange{{paddedSequence: "7", isOutdated: outdated}}}
		jobs := changesByBoard{s.Period: s}.jobs(d)[2:]
		for _, j := range jobs {
			require.NoError(t, j.fold(t.Context()))
		}
		_, key := schema.RowsNoteKey("b", "all", "s", "7")
		if wrote := dynamo.Text(f.list[len(f.list)-1].Key, schema.SK) == key && len(f.list) == 5; wrote != outdated {
			t.Errorf("a row that is outdated: %t; noted: %t", outdated, wrote)
		}
	}
}

// updates records updates, and fails them.
type updates struct {
	Client
	list []*dynamodb.UpdateItemInput
	err  error
}

func (u *updates) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	u.list = append(u.list, in)
	return &dynamodb.UpdateItemOutput{}, u.err
}
