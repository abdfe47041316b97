package hotkeys_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// spoil stores a heat item of an unknown version.
func (f *fixture) spoil(t tester, pk, sk string) {
	t.Helper()
	item := dynamo.Key(pk, sk)
	item["v"] = &types.AttributeValueMemberN{Value: "99"}
	f.putHeat(t, item)
}

// spoilWindow stores an unreadable heat item of a window. It returns the sort key.
func (f *fixture) spoilWindow(t tester, at time.Time) (sk string) {
	t.Helper()
	sk = heat.SortBound(at)
	sk += "#other#"
	partitions, _ := heat.Prompt.Partitions(at)
	f.spoil(t, partitions[0], sk)
	return sk
}

// TestUnreadableHeatItem checks that an unreadable heat item delays a shrink as long as its window, or its hour for an
// entity, is in the quiet period, and that it is logged once.
func TestUnreadableHeatItem(t *testing.T) {
	s := settings()
	s.PartitionWCU = 10
	f := newFixture(s)
	f.shards.set("C#a", 8, start)
	f.shards.set("E#e", 8, start)
	sk := f.spoilWindow(t, start.Add(5*time.Minute))
	l := life{fixture: f, every: 10 * time.Minute, load: others}
	for _, step := range []struct {
		until time.Duration // from the start
		want  []string
	}{
		{25 * time.Minute, nil}, // a window may last 15 minutes, and the quiet period 10
		{45 * time.Minute, []string{"C#a 8>1"}},
		{26 * time.Hour, []string{"C#a 8>1"}}, // a day and an hour from the end of the hour, and two windows
		{26*time.Hour + 30*time.Minute, []string{"C#a 8>1", "E#e 8>1"}},
	} {
		l.run(t, start.Add(step.until).Sub(f.now))
		if !slices.Equal(f.shards.changes, step.want) {
			t.Fatalf("after %v: changes %v, want %v\n%s", step.until, f.shards.changes, step.want, f.logs)
		}
	}
	if logs := f.logs.String(); strings.Count(logs, "not readable") != 1 || !strings.Contains(logs, sk) || !strings.Contains(logs, "counts can't be read") {
		t.Errorf("want the unreadable item %s once in the logs, and doubt:\n%s", sk, logs)
	}
}

// TestUnreadableReport checks that an entity's unreported write shards are cold once all stream shards have had the
// time to report, but unknown if a report of the window is unreadable.
func TestUnreadableReport(t *testing.T) {
	for _, spoilt := range []bool{false, true} {
		f := newFixture(settings())
		f.shards.set("E#e", 4, start.Add(-time.Hour))
		if spoilt {
			f.spoilWindow(t, start)
		}
		f.now = start.Add(15 * time.Second) // all stream shards have reported the window
		f.must(t, batch{writes: repeat("E#e#"+start.Format(time.DateOnly)+"#0", 800, 1), first: 1, shard: "a", final: true}.payload())
		if strings.Contains(f.logs.String(), "skew") == spoilt || len(f.shards.changes) > 0 {
			t.Errorf("unreadable %v: changes %v, want none\n%s", spoilt, f.shards.changes, f.logs)
		}
	}
}
