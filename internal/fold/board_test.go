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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// calm returns a board of this number of players, all folded, without faults.
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

// expiry returns the record of an entry's removal by TTL.
func expiry(name, period string, s parts.EntryState, sequence string) string {
	gone := s
	gone.Present = false
	s.Present = true
	record := entryRecord(name, period, s, gone, sequence, "")
	return strings.Replace(record, `{"eventName"`, `{"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},"eventName"`, 1)
}

// TestRemovalsByTTL checks that they change no summary: the summaries expire with the entries.
func TestRemovalsByTTL(t *testing.T) {
	a := calm(t, 4)
	must(t, a.containers[0], enginetest.WindowedBatch("shardId-0", expiry(a.name, "all", a.entries["p1"], "99999")))
	a.compare()
}

// TestSummariesOfPeriodsExpire checks that a period's top expires with the last of its entries, and its
// fragments only if the entries do.
func TestSummariesOfPeriodsExpire(t *testing.T) {
	a := calm(t, 0)
	const period = "2026-W02"
	for i, ttl := range []struct{ more, want string }{
		{`,"expires_at":{"N":"5100000000"}`, "5100000000"}, {`,"expires_at":{"N":"5000000000"}`, "5100000000"},
		{`,"expires_at":{"N":"5200000000"}`, "5200000000"}, {"", ""}, {`,"expires_at":{"N":"5200000000"}`, ""},
	} {
		s := parts.EntryState{Place: boards.Place{Player: "p", At: time.UnixMilli(1).UTC()}, Rev: int64(i + 1), Present: true}
		item := a.item(s)
		pk, sk := schema.EntryKey(a.name, period, "p")
		maps.Copy(item, dynamo.Key(pk, sk))
		if _, digits, has := strings.Cut(ttl.more, `"N":"`); has {
			item[schema.ExpiresAt] = dynamo.Decimal(strings.TrimRight(digits, `"}`))
		}
		enginetest.Put(t, a.db, a.names.Items, item)
		must(t, a.containers[0], enginetest.WindowedBatch("s", entryRecord(a.name, period, parts.EntryState{}, s, fmt.Sprint(i+1), ttl.more)))
		top := enginetest.Get(t, a.db, a.names.Rollups, schema.BoardRollupKey(a.name, period), schema.TopSK)
		if got := dynamo.Digits(top, schema.ExpiresAt); got != ttl.want {
			t.Errorf("step %d: the top expires at %q, want %q", i, got, ttl.want)
		}
		pk, sk = schema.HistogramKey(a.name, period, "s")
		if got := dynamo.Digits(enginetest.Get(t, a.db, a.names.Rollups, pk, sk), schema.ExpiresAt); (got == "") != (ttl.more == "") {
			t.Errorf("step %d: the fragment expires at %q, and its entry has %q", i, got, ttl.more)
		}
	}
}

// TestTasks checks that the handler runs its two tasks, logs them, and rejects others.
func TestTasks(t *testing.T) {
	a := calm(t, 0)
	var logs bytes.Buffer
	for _, h := range a.containers {
		h.log = slog.New(slog.NewTextHandler(&logs, nil))
	}
	if got := a.task(); got != `{"looked":0,"failed":0,"later":0,"moved":0}` || !strings.Contains(logs.String(), `msg="boards task done"`) {
		t.Errorf("a task without notes: %s, logs %s", got, &logs)
	}
	logs.Reset()
	if _, err := a.containers[0].Invoke(t.Context(), []byte(CompactionTask)); err != nil || !strings.Contains(logs.String(), `msg="compaction task done"`) {
		t.Errorf("compaction: %v, %s", err, &logs)
	}
	if _, err := a.containers[0].Invoke(t.Context(), []byte(`{"task":"other"}`)); err == nil {
		t.Error("the handler accepts an unknown task")
	}
}
