package fold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// broken fails reads of boards.
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

// TestFailedReadsOfBoards checks what happens to a record whose board can't be read. An unavailable board
// fails the record, a throttled one is noted for a recheck, and a damaged one is a failure.
func TestFailedReadsOfBoards(t *testing.T) {
	a := calm(t, 3)
	h, boards := a.containers[0], a.containers[0].tops.boards
	a.score1("p9", 7)
	i := a.stream("p9")
	last := enginetest.WindowedBatch("shardId-9", a.streams[i][len(a.streams[i])-1])
	h.tops.boards = broken{boards, fmt.Errorf("reading: %w", shard.ErrUnavailable)}
	if failed, err := hand(h, last); err != nil || len(failed) != 1 {
		t.Errorf("unavailable: failed %v, %v; want the record", failed, err)
	}
	a.rest()
	h.tops.boards = broken{boards, fmt.Errorf("reading: %w", shard.ErrThrottled)}
	must(t, h, last)
	h.tops.boards = broken{boards, errors.New("no score in it")}
	must(t, h, last)
	if got := failures(t, a.db, a.names.Rollups); len(got) != 1 {
		t.Errorf("damaged: failures %+v, want one", got)
	}
	h.tops.boards = boards
	if n := a.noted(); n != 1 {
		t.Errorf("%d notes of tops, want one", n)
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

// TestDamagedEntry checks that a top lacks a damaged entry and has the others. Only the entry's record is a
// failure.
func TestDamagedEntry(t *testing.T) {
	a := calm(t, 3)
	a.rest()
	for _, player := range []string{"p7", "p8", "p9"} {
		a.score1(player, 5)
	}
	it := a.item(a.entries["p8"])
	it[schema.RankKey] = dynamo.String("1")
	enginetest.Put(t, a.db, a.names.Items, it)
	var records []string
	for _, player := range []string{"p7", "p8", "p9"} {
		records = append(records, entryRecord(a.name, "all", parts.EntryState{}, a.entries[player], fmt.Sprint("3000", player[1:]), ""))
	}
	must(t, a.containers[0], enginetest.WindowedBatch("s", records...))
	held := a.top().Entries()
	if len(held) != 5 || held[0].Player != "p7" || held[1].Player != "p9" {
		t.Errorf("the top has %+v, want 5 players from p7 and p9 on", held)
	}
	target := schema.BoardRollupKey(a.name, "all")
	if got := failures(t, a.db, a.names.Rollups); len(got) != 1 || got[target].count != 1 || got[target].sequence != "30008" {
		t.Errorf("failures %+v, want one, of record 30008", got)
	}
	if n := a.noted(); n != 1 {
		t.Errorf("%d notes of tops, want one", n)
	}
}

// TestUnreadableTop checks that an unreadable top is rebuilt from the index. An unreadable fragment of the
// histogram is a failure.
func TestUnreadableTop(t *testing.T) {
	text := dynamo.String("x")
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
		streamShard := shardID(a.stream("p9"))
		for _, sk := range []string{schema.TopSK, schema.HistogramPrefix + streamShard} {
			a.damage(sk, damage)
		}
		a.score1("p9", 7)
		i := a.stream("p9")
		must(t, h, enginetest.WindowedBatch(streamShard, a.streams[i][len(a.streams[i])-1]))
		if got := failures(t, a.db, a.names.Rollups); got[schema.BoardRollupKey(a.name, "all")].count != 1 {
			t.Errorf("%s: failures %+v, want one of the board, for its histogram", name, got)
		}
		if held := a.top().Entries(); len(held) < a.size || held[0].Player != "p9" || held[1].Player != "p0" {
			t.Errorf("%s: the top has %+v, want %d players from p9 and p0 on", name, held, a.size)
		}
		if n := a.noted(); n != 1 {
			t.Errorf("%s: %d notes of tops, want one", name, n)
		}
	}
}

// damage changes attributes of a summary of the board, and removes those that are nil.
func (a *arena) damage(sk string, with map[string]types.AttributeValue) {
	a.t.Helper()
	pk := schema.BoardRollupKey(a.name, "all")
	if streamShard, fragment := strings.CutPrefix(sk, schema.HistogramPrefix); fragment {
		pk, sk = schema.HistogramKey(a.name, "all", streamShard)
	}
	it := dynamo.Key(pk, sk)
	maps.Copy(it, enginetest.Get(a.t, a.db, a.names.Rollups, pk, sk))
	maps.Copy(it, with)
	maps.DeleteFunc(it, func(_ string, v types.AttributeValue) bool { return v == nil })
	enginetest.Put(a.t, a.db, a.names.Rollups, it)
}

// TestALostTopOfAWeek checks that a recheck rebuilds a lost top with the expiry of its last entry.
func TestALostTopOfAWeek(t *testing.T) {
	a := calm(t, 0)
	const period = "2026-W02"
	far := enginetest.Later.AddDate(1, 0, 0).Unix()
	for i, expires := range []int64{far - 1000, far} {
		it := a.item(parts.EntryState{Place: boards.Place{Player: fmt.Sprint("p", i), At: time.UnixMilli(1).UTC()}, Rev: 1, Present: true})
		maps.Copy(it, dynamo.Key(schema.EntryKey(a.name, period, fmt.Sprint("p", i))))
		it[schema.BoardShard] = dynamo.String(schema.BoardShardKey(a.name, period, 0))
		it[schema.ExpiresAt] = dynamo.Number(expires)
		enginetest.Put(t, a.db, a.names.Items, it)
	}
	s := &boardChanges{Period: parts.Period{Board: a.name, Label: period}}
	if err := a.containers[0].tops.noteRecheck(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	a.rest()
	top, err := a.containers[0].tops.load(t.Context(), s)
	if err != nil || len(top.Entries()) != 2 || top.lifetime.end.Unix() != far {
		t.Errorf("the top is %+v, %v; want two players until %d", top, err, far)
	}
}
