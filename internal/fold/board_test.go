package fold

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/compact"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
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

// TestAnEntryThatCannotBeRead is a failure of its board's period, and holds up nothing.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	a := calm(t, 3)
	a.rest()
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
	if a.noted() != 1 {
		t.Errorf("%d notes, want one: the top is to be looked at", a.noted())
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
		{`,"expires_at":{"N":"5100000000"}`, "5100000000"}, {`,"expires_at":{"N":"5000000000"}`, "5100000000"},
		{`,"expires_at":{"N":"5200000000"}`, "5200000000"}, {"", ""}, {`,"expires_at":{"N":"5200000000"}`, ""},
	} {
		s := board.State{Place: boards.Place{Player: "p", At: time.UnixMilli(1).UTC()}, Rev: int64(i + 1), Present: true}
		item := a.item(s)
		pk, sk := schema.EntryKey(a.name, period, "p")
		maps.Copy(item, dynamo.Key(pk, sk))
		if _, digits, has := strings.Cut(ttl.more, `"N":"`); has {
			item[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strings.TrimRight(digits, `"}`)}
		}
		if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.names.Items, Item: item}); err != nil {
			t.Fatal(err)
		}
		must(t, a.containers[0], batchOf("s", entryRecord(a.name, period, board.State{}, s, fmt.Sprint(i+1), ttl.more)))
		for _, sk := range []string{schema.TopSK, schema.HistogramPrefix + "s"} {
			key := dynamo.Key(schema.BoardRollupKey(a.name, period), sk)
			if sk != schema.TopSK {
				key = dynamo.Key(schema.HistogramKey(a.name, period, "s"))
			}
			out, err := a.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &a.names.Rollups, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			if got := dynamo.Digits(out.Item, schema.ExpiresAt); sk == schema.TopSK && got != ttl.want {
				t.Errorf("step %d: %s expires at %q, want %q", i, sk, got, ttl.want)
			} else if sk != schema.TopSK && (got == "") != (ttl.more == "") {
				t.Errorf("step %d: %s expires at %q", i, sk, got)
			}
		}
	}
}

// TestTasks takes no others.
func TestTasks(t *testing.T) {
	a := calm(t, 0)
	var logs bytes.Buffer
	for _, h := range a.containers {
		h.log = slog.New(slog.NewTextHandler(&logs, nil))
	}
	if got := a.task(); got != `{"looked":0,"failed":0,"later":0,"moved":0}` || !strings.Contains(logs.String(), `msg="boards task done"`) {
		t.Errorf("nothing to do: %s, %s", got, &logs)
	}
	logs.Reset()
	if _, err := a.containers[0].Invoke(t.Context(), []byte(compact.Task)); err != nil || !strings.Contains(logs.String(), `msg="compaction task done"`) {
		t.Errorf("compaction: %v, %s", err, &logs)
	}
	if _, err := a.containers[0].Invoke(t.Context(), []byte(`{"task":"other"}`)); err == nil {
		t.Error("another task is no error")
	}
}
