package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// at is a run at a set time, without a client.
func at(now time.Time, settings Settings) *compaction {
	return &compaction{compactor: newCompactor(nil, settings, slog.New(slog.DiscardHandler), nil), now: now}
}

func TestDefaults(t *testing.T) {
	c := newCompactor(nil, Settings{RollupsTable: "r", ItemsTable: "i", RollupRetention: time.Hour}, nil, nil)
	got := fmt.Sprint(c.table, c.items, c.retention, c.rest, c.budget, c.readUnits, c.writeUnits, c.pageItems, roundEvery)
	if want := "ri1h0m0s 48h0m0s 5m0s 200 100 500 24h0m0s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWhatHasTombstones checks in which items of the rollups table tombstones are removed. A stream keeps a record for 24 h,
// and a tombstone rests 48 h (I14).
func TestWhatHasTombstones(t *testing.T) {
	for _, c := range []struct {
		pk, sk string
		rested time.Duration
		want   bool
	}{
		{"C#a#0", "-", 48*time.Hour + time.Millisecond, true},
		{"C#a#1#12", "-", 48*time.Hour + time.Millisecond, true},
		{"C#a#0", "-", 48 * time.Hour, false},
		{"C#a#0", "+", 49 * time.Hour, false},
		{"E#a#2026-01", "-", 49 * time.Hour, false},
		{"B#a#all", "-", 49 * time.Hour, false},
		{"a", "-", 49 * time.Hour, false},
	} {
		it := dynamo.Key(c.pk, c.sk)
		it[schema.Gone] = dynamo.Number(hour.Add(-c.rested).UnixMilli())
		if got := at(hour, Settings{}).removable(c.pk, it); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if at(hour, Settings{}).removable("C#a#0", dynamo.Key("C#a#0", "-")) {
		t.Error("a partial that never lost a write shard has tombstones")
	}
}

// TestFragmentsOfAPage checks how the fragments of a page are counted, by summary.
func TestFragmentsOfAPage(t *testing.T) {
	r := at(hour, Settings{})
	fragment := func(entity, streamShard, sequence string, rested, expires time.Duration) item {
		it := dynamo.Key(schema.RollupKey(entity, hour, streamShard))
		it[schema.RollupSequence] = dynamo.String(sequence)
		if rested != 0 {
			it[schema.AsOf] = dynamo.Number(hour.Add(-rested).UnixMilli())
		}
		if expires != 0 {
			it[schema.ExpiresAt] = dynamo.Number(hour.Add(expires).Unix())
		}
		return it
	}
	const old = 49 * time.Hour
	found := r.fragmentsOf([]item{
		dynamo.Key("C#c#0", "-"),
		fragment("a", "s1", "1", 48*time.Hour, 0), // does not rest yet
		fragment("a", "s2", "1", 48*time.Hour+time.Millisecond, 0),
		fragment("a", "s3", "1", old, time.Second),
		fragment("a", "s4", "1", old, -time.Second),
		fragment("a", "s5", "1"+schema.EmptiedSuffix, old, time.Second),
		fragment("a", "s6", "1", 0, 0),
		fragment("a", schema.MergedPart, "1", old, 0),
		fragment("b", schema.MergedPart, "1", old, -time.Second),
		dynamo.Key(schema.CompactionPK, schema.SoleSK),
		dynamo.Key(schema.HistogramKey("g", "all", "s1")),
	})
	var got []string
	for _, s := range found {
		got = append(got, fmt.Sprintf("%s: %d resting, %d merged", s.summary.Key().Target, s.resting, s.merged))
	}
	want := []string{
		bucketAt("a", hour).Key().Target + ": 2 resting, 1 merged",
		bucketAt("b", hour).Key().Target + ": 0 resting, 0 merged",
		parts.Period{Board: "g", Label: "all"}.Key().Target + ": 0 resting, 0 merged",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhatIsDue checks which summaries are read, by the numbers of their fragments on a page.
func TestWhatIsDue(t *testing.T) {
	for _, c := range []struct {
		resting, merged int
		edge, want      bool
	}{{0, 1, true, false}, {0, 2, false, false}, {1, 0, false, false}, {1, 0, true, true}, {1, 1, false, true}, {2, 0, false, true}} {
		if got := (&pageFragments{nil, c.resting, c.merged}).mayMerge(c.edge); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// pagedTable is a table whose pages take 100 ms and 50 read units, and whose cursor is not stored.
type pagedTable struct {
	Client
	begun []time.Duration
	first time.Time
	pages int
}

func (p *pagedTable) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

func (p *pagedTable) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errors.New("not stored")
}

func (p *pagedTable) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	p.begun = append(p.begun, time.Since(p.first))
	time.Sleep(100 * time.Millisecond)
	out := &dynamodb.ScanOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(50)}}
	if len(p.begun) < p.pages {
		out.LastEvaluatedKey = dynamo.Key("a", "b")
	}
	return out, nil
}

// TestScanIsPaced checks when a run begins its pages, and that it ends with its budget or the table.
func TestScanIsPaced(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		pages  int
		budget time.Duration
		begun  []time.Duration
		ended  time.Duration
		done   bool
	}{
		{3, time.Hour, []time.Duration{0, 500 * ms, 1000 * ms}, 1100 * ms, true},
		{9, 1200 * ms, []time.Duration{0, 500 * ms, 1000 * ms}, 1100 * ms, false},
		{9, 500 * ms, []time.Duration{0}, 100 * ms, false},
		{9, 501 * ms, []time.Duration{0, 500 * ms}, 600 * ms, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			table := &pagedTable{first: time.Now(), pages: c.pages}
			compactor := newCompactor(table, Settings{}, slog.New(slog.DiscardHandler), time.Now)
			compactor.budget, compactor.readUnits = c.budget, 100
			answer, err := compactor.run(t.Context())
			if got := time.Since(table.first); !slices.Equal(table.begun, c.begun) || got != c.ended || answer.Done != c.done || err == nil {
				t.Errorf("%d pages in %v: begun at %v, ended at %v with %+v, %v; want %v and %v", c.pages, c.budget, table.begun, got, answer, err, c.begun, c.ended)
			}
		})
	}
}

// TestMergesAreSpent checks that a run merges on only if its units fit the rate before its end, and its call goes on.
func TestMergesAreSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := at(time.Now(), Settings{})
		r.writeUnits = 10
		r.end = time.Now().Add(time.Second)
		left, leave := context.WithCancel(t.Context())
		leave()
		for i, c := range []struct {
			ctx   context.Context
			units float64
			want  bool
			takes time.Duration
		}{{t.Context(), 10, false, 0}, {left, 5, false, 0}, {t.Context(), 5, true, 500 * time.Millisecond}, {t.Context(), 5, false, 0}, {t.Context(), 4.9, true, 490 * time.Millisecond}} {
			begin := time.Now()
			if got := r.paceWrites(c.ctx, c.units); got != c.want || time.Since(begin) != c.takes {
				t.Errorf("row %d: %t after %v", i, got, time.Since(begin))
			}
		}
	})
}
