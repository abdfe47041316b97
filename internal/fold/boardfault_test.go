package fold

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// broken answers readings of a board with an error.
type broken struct {
	Boards
	err error
}

func (b broken) Entries(context.Context, string, string, []string, time.Time) (map[string]boards.Entry, error) {
	return nil, b.err
}

func (b broken) Settings(context.Context, string, time.Time) (boards.Settings, error) {
	return boards.Settings{}, b.err
}

// TestBoardsThatCannotBeRead: what is throttled is looked at again, what can't be
// reached comes again, and what is damaged is noted.
func TestBoardsThatCannotBeRead(t *testing.T) {
	a := calm(t, 3)
	h, boards := a.containers[0], a.containers[0].tops.boards
	a.score1("p9", 7)
	i := a.stream("p9")
	last := batchOf("shardId-9", a.streams[i][len(a.streams[i])-1])
	h.tops.boards = broken{boards, fmt.Errorf("reading: %w", shard.ErrUnavailable)}
	if failed, err := hand(h, last); err != nil || len(failed) != 1 {
		t.Errorf("unavailable: failed %v, %v", failed, err)
	}
	a.rest()
	h.tops.boards = broken{boards, fmt.Errorf("reading: %w", shard.ErrThrottled)}
	must(t, h, last)
	h.tops.boards = broken{boards, errors.New("no score in it")}
	must(t, h, last)
	if got := failures(t, a.db, a.names.Rollups); len(got) != 1 {
		t.Errorf("damaged: failures %+v", got)
	}
	h.tops.boards = boards
	if n := a.noted(); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// noted returns the number of notes of tops.
func (a *arena) noted() int { return a.notes(topNote) }

// notes returns the number of notes of tops, of sums, or of rows.
func (a *arena) notes(what noteKind) (n int) {
	a.t.Helper()
	notes, err := a.containers[0].rechecks.notes(context.Background())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, note := range notes {
		if note.kind == what {
			n++
		}
	}
	return n
}

// TestADamagedEntry is missing in the top, whose other players are folded. Only its
// own records are noted.
func TestADamagedEntry(t *testing.T) {
	a := calm(t, 3)
	a.rest()
	for _, player := range []string{"p7", "p8", "p9"} {
		a.score1(player, 5)
	}
	it := a.item(a.entries["p8"])
	it[schema.RankKey] = &types.AttributeValueMemberS{Value: "1"}
	if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.names.Items, Item: it}); err != nil {
		t.Fatal(err)
	}
	var records []string
	for _, player := range []string{"p7", "p8", "p9"} {
		records = append(records, entryRecord(a.name, "all", board.State{}, a.entries[player], fmt.Sprint("3000", player[1:]), ""))
	}
	must(t, a.containers[0], batchOf("s", records...))
	held := a.top().Entries()
	if len(held) != 5 || held[0].Player != "p7" || held[1].Player != "p9" {
		t.Errorf("held: %+v", held)
	}
	target := schema.BoardRollupKey(a.name, "all")
	if got := failures(t, a.db, a.names.Rollups); len(got) != 1 || got[target].count != 1 || got[target].sequence != "30008" {
		t.Errorf("failures: %+v", got)
	}
}

// TestATopThatCannotBeRead is made anew from the index, in the place of just that one.
// A part of the histogram is noted.
func TestATopThatCannotBeRead(t *testing.T) {
	text := &types.AttributeValueMemberS{Value: "x"}
	for name, damage := range map[string]map[string]types.AttributeValue{
		"version of the form": {schema.Version: dynamo.Number(2)},
		"absent":              {schema.TopWhole: nil, schema.HistogramCells: nil},
		"bytes":               {schema.TopPlaces: &types.AttributeValueMemberB{Value: []byte("x")}, schema.HistogramCells: &types.AttributeValueMemberB{Value: []byte("x")}},
		"version":             {schema.TopVersion: text, schema.Version: text},
		"all":                 {schema.TopVersion: nil, schema.Version: nil, schema.TopPlaces: nil, schema.TopWhole: text, schema.HistogramCells: nil},
	} {
		a := calm(t, 8)
		h := newHandler(t, Settings{RollupsTable: a.names.Rollups}, a.db)
		h.tops.boards, h.tops.hold, h.tops.now = a.containers[0].tops.boards, a.containers[0].tops.hold, a.containers[0].tops.now
		streamShard, _ := a.shard(a.stream("p9"), 0)
		for _, sk := range []string{schema.TopSK, schema.HistogramPrefix + streamShard} {
			a.damage(sk, damage)
		}
		a.score1("p9", 7)
		i := a.stream("p9")
		must(t, h, batchOf(streamShard, a.streams[i][len(a.streams[i])-1]))
		if got := failures(t, a.db, a.names.Rollups); got[schema.BoardRollupKey(a.name, "all")].count != 1 {
			t.Errorf("%s: failures %+v, want one of the board, for its histogram", name, got)
		}
		if held := a.top().Entries(); len(held) < a.size || held[0].Player != "p9" || held[1].Player != "p0" {
			t.Errorf("%s: held %+v", name, held)
		}
		if n := a.noted(); n != 1 {
			t.Errorf("%s: %d notes", name, n)
		}
	}
}

// damage changes what is stored of a board, removing what is nil.
func (a *arena) damage(sk string, with map[string]types.AttributeValue) {
	a.t.Helper()
	key := dynamo.Key(schema.BoardRollupKey(a.name, "all"), sk)
	if streamShard, part := strings.CutPrefix(sk, schema.HistogramPrefix); part {
		key = dynamo.Key(schema.HistogramKey(a.name, "all", streamShard))
	}
	out, err := a.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &a.names.Rollups, Key: key})
	if err != nil {
		a.t.Fatal(err)
	}
	maps.Copy(key, out.Item)
	maps.Copy(key, with)
	maps.DeleteFunc(key, func(_ string, v types.AttributeValue) bool { return v == nil })
	if _, err := a.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &a.names.Rollups, Item: key}); err != nil {
		a.t.Fatal(err)
	}
}

// TestADamagedTopIsReplacedOnceOnly: of two who found it, one is refused.
func TestADamagedTopIsReplacedOnceOnly(t *testing.T) {
	a := calm(t, 3)
	f := a.containers[0].tops
	for _, version := range []types.AttributeValue{nil, dynamo.Number(7)} {
		a.damage(schema.TopSK, map[string]types.AttributeValue{schema.TopVersion: version, schema.TopPlaces: nil})
		s := &boardChanges{Period: parts.Period{Board: a.name, Label: "all"}}
		top, err := f.load(t.Context(), s)
		if err != nil || top.damaged == nil {
			t.Fatalf("%+v, %v", top, err)
		}
		for _, want := range []bool{true, false} {
			if _, err := f.client.UpdateItem(t.Context(), f.update(s, top, top.next(board.NewTop(), s.lifetime, f.now()))); (err == nil) != want {
				t.Errorf("stored: %v", err)
			}
		}
	}
}

// TestALostTop is made of what was folded since, taken for whole, and right again
// after a look.
func TestALostTop(t *testing.T) {
	a := calm(t, 20)
	a.rest()
	key := dynamo.Key(schema.BoardRollupKey(a.name, "all"), schema.TopSK)
	if _, err := a.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &a.names.Rollups, Key: key}); err != nil {
		t.Fatal(err)
	}
	a.score1("p19", 5)
	a.fold()
	if top := a.top(); len(top.Entries()) != 1 || !top.Whole() {
		t.Fatalf("the test wants a whole top of one: %+v", top.Entries())
	}
	a.rest()
	a.compare()
}

// TestALostTopOfAWeek that a look makes anew expires as its entries do.
func TestALostTopOfAWeek(t *testing.T) {
	a := calm(t, 0)
	const period = "2026-W02"
	far := enginetest.Later.AddDate(1, 0, 0).Unix()
	for i, expires := range []int64{far - 1000, far} {
		it := a.item(board.State{Place: boards.Place{Player: fmt.Sprint("p", i), At: time.UnixMilli(1).UTC()}, Rev: 1, Present: true})
		maps.Copy(it, dynamo.Key(schema.EntryKey(a.name, period, fmt.Sprint("p", i))))
		it[schema.BoardShard] = &types.AttributeValueMemberS{Value: schema.BoardShardKey(a.name, period, 0)}
		it[schema.ExpiresAt] = dynamo.Number(expires)
		if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.names.Items, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	s := &boardChanges{Period: parts.Period{Board: a.name, Label: period}}
	if err := a.containers[0].tops.note(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	a.rest()
	top, err := a.containers[0].tops.load(t.Context(), s)
	if err != nil || len(top.Entries()) != 2 || top.lifetime.end.Unix() != far {
		t.Errorf("%+v, %v", top, err)
	}
}
