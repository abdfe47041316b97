package rollup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// calm is a board of some players that nothing disturbs.
func calm(t *testing.T, players int) *arena {
	t.Helper()
	db := enginetest.Client(t)
	a := newArena(t, db, enginetest.Tables(t, db), rand.New(rand.NewPCG(1, 1)), 1)
	a.size = 5
	for i := range players {
		a.score1(fmt.Sprint("p", i), -10*i)
	}
	a.fold()
	return a
}

// expiry is the record of an entry's removal by TTL.
func expiry(name, period string, s board.State, sequence string) string {
	gone := s
	gone.Present = false
	s.Present = true
	record := entryRecord(name, period, s, gone, sequence, "")
	return strings.Replace(record, `{"eventName"`, `{"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},"eventName"`, 1)
}

// TestRemovalsByTTL change nothing: the summaries expire with the entries.
func TestRemovalsByTTL(t *testing.T) {
	a := calm(t, 4)
	must(t, a.containers[0], batchOf("shardId-0", expiry(a.name, "all", a.entries["p1"], "99999")))
	a.compare()
}

// TestAnEntryThatCannotBeRead goes to the failure destination with its board's
// period, and holds up nothing.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	a := calm(t, 3)
	good := a.entries["p1"]
	good.Rev++
	record := entryRecord(a.name, "all", a.entries["p1"], good, "20000", "")
	bad := func(replace, by, sequence string) string {
		return strings.Replace(entryRecord(a.name, "all", board.State{}, good, sequence, ""), replace, by, 1)
	}
	must(t, a.containers[0], batchOf("shardId-0",
		bad(`"score":{"N"`, `"score":{"S"`, "20001"), bad(`"rev":{"N":"`, `"rev":{"N":"-`, "20002"), bad(`"at":{"N":"`, `"at":{"N":"0.`, "20003"),
		bad(`"eventName":"INSERT"`, `"eventName":"MODIFY"`, "20004"), bad(`"eventName":"INSERT"`, `"eventName":"LOST"`, "20005"),
		bad(`"20006"`, `"`+strings.Repeat("1", 41)+`"`, "20006"), record))
	target := schema.BoardRollupKey(a.name, "all")
	got := failures(t, a.db, a.names.Rollups)
	if len(got) != 1 || got[target].count != 6 {
		t.Fatalf("failures: %+v", got)
	}
	parsed, err := schema.ParseTarget(target)
	if err != nil || parsed.Base.Name != a.name || parsed.Period != "all" {
		t.Errorf("%q is %+v, %v", target, parsed, err)
	}
	if e := a.top().Entries()[1]; e.Rev != good.Rev {
		t.Errorf("p1 is %+v, want rev %d", e, good.Rev)
	}
}

// TestBoardsWithoutAStreamShard: the top needs none, but the histogram does.
func TestBoardsWithoutAStreamShard(t *testing.T) {
	a := calm(t, 0)
	a.score1("p1", 5)
	i := a.stream("p1")
	failed, err := hand(a.containers[0], []byte(`{"Records":[`+a.streams[i][0]+`]}`))
	if err != nil || !failed[a.numbers[i][0]] || a.first() != "p1" {
		t.Errorf("failed: %v, %v; first %q", failed, err, a.first())
	}
	a.rest()
	a.compare()
}

// TestSummariesOfPeriodsExpire as late as the entries that they are about.
func TestSummariesOfPeriodsExpire(t *testing.T) {
	a := calm(t, 0)
	const period = "2026-W02"
	for i, ttl := range []struct{ more, want string }{
		{`,"expires_at":{"N":"2000000000"}`, "2000000000"}, {`,"expires_at":{"N":"1900000000"}`, "2000000000"},
		{`,"expires_at":{"N":"2100000000"}`, "2100000000"}, {"", ""}, {`,"expires_at":{"N":"2100000000"}`, ""},
	} {
		s := board.State{Place: schema.Place{Player: "p", At: time.UnixMilli(1).UTC()}, Rev: int64(i + 1), Present: true}
		item := a.item(s)
		pk, sk := schema.EntryKey(a.name, period, "p")
		item[schema.PK], item[schema.SK] = itemKey(pk, sk)[schema.PK], itemKey(pk, sk)[schema.SK]
		if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.names.Items, Item: item}); err != nil {
			t.Fatal(err)
		}
		must(t, a.containers[0], batchOf("s", entryRecord(a.name, period, board.State{}, s, fmt.Sprint(i+1), ttl.more)))
		for _, sk := range []string{schema.TopSK, schema.HistogramPrefix + "s"} {
			out, err := a.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &a.names.Rollups, Key: itemKey(schema.BoardRollupKey(a.name, period), sk)})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := numberIn(out.Item)(schema.ExpiresAt); sk == schema.TopSK && got != ttl.want {
				t.Errorf("step %d: %s expires at %q, want %q", i, sk, got, ttl.want)
			} else if sk != schema.TopSK && (got == "") != (ttl.more == "") {
				t.Errorf("step %d: %s expires at %q", i, sk, got)
			}
		}
	}
}

// broken answers readings of a board with an error.
type broken struct {
	Boards
	err error
}

func (b broken) Entries(context.Context, string, string, []string, time.Time) (map[string]ddb.BoardEntry, error) {
	return nil, b.err
}

func (b broken) Settings(context.Context, string, time.Time) (ddb.BoardSettings, error) {
	return ddb.BoardSettings{}, b.err
}

// TestBoardsThatCannotBeRead: what may pass comes again, what is damaged is noted.
func TestBoardsThatCannotBeRead(t *testing.T) {
	a := calm(t, 3)
	h, boards := a.containers[0], a.containers[0].tops.boards
	a.score1("p9", 7)
	i := a.stream("p9")
	last := batchOf("shardId-9", a.streams[i][len(a.streams[i])-1])
	h.tops.boards = broken{boards, fmt.Errorf("reading: %w", ddb.ErrThrottled)}
	if failed, err := hand(h, last); err != nil || len(failed) != 1 {
		t.Errorf("throttled: failed %v, %v", failed, err)
	}
	h.tops.boards = broken{boards, errors.New("no score in it")}
	must(t, h, last)
	if got := failures(t, a.db, a.names.Rollups); len(got) != 1 {
		t.Errorf("damaged: failures %+v", got)
	}
	h.tops.boards = boards
	must(t, h, last)
	if a.first() != "p9" {
		t.Errorf("the first is %q", a.first())
	}
}

// TestSummariesThatCannotBeRead are noted.
func TestSummariesThatCannotBeRead(t *testing.T) {
	for _, damage := range []func(map[string]types.AttributeValue){
		func(it map[string]types.AttributeValue) { it[schema.Version] = number(2) },
		func(it map[string]types.AttributeValue) {
			delete(it, schema.TopWhole)
			delete(it, schema.HistogramCells)
		},
		func(it map[string]types.AttributeValue) {
			it[schema.TopPlaces], it[schema.HistogramCells] = &types.AttributeValueMemberB{Value: []byte("x")}, &types.AttributeValueMemberB{Value: []byte("x")}
		},
	} {
		a := calm(t, 3)
		h := newHandler(t, Settings{RollupsTable: a.names.Rollups}, a.db)
		for _, sk := range []string{schema.TopSK, schema.HistogramPrefix + "shardId-" + fmt.Sprint(a.stream("p9"))} {
			it := itemKey(schema.BoardRollupKey(a.name, "all"), sk)
			it[schema.Version], it[schema.TopVersion], it[schema.RollupSequence] = number(1), number(1), &types.AttributeValueMemberS{Value: "1"}
			damage(it)
			if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.names.Rollups, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		a.score1("p9", 7)
		i := a.stream("p9")
		must(t, h, batchOf(fmt.Sprint("shardId-", i), a.streams[i][len(a.streams[i])-1]))
		if got := failures(t, a.db, a.names.Rollups); got[schema.BoardRollupKey(a.name, "all")].count != 2 {
			t.Errorf("failures %+v, want two of the board: its top and its histogram", got)
		}
	}
}

// TestTasks takes no others.
func TestTasks(t *testing.T) {
	a := calm(t, 0)
	if got := a.task(); got != `{"looked":0,"failed":0,"later":0}` {
		t.Errorf("nothing to do: %s", got)
	}
	if _, err := a.containers[0].Invoke(t.Context(), []byte(`{"task":"other"}`)); err == nil {
		t.Error("another task is no error")
	}
}
