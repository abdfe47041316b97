package explain_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/explain"
)

// oneWindow is the heat of one window.
type oneWindow heat.Item

func (w oneWindow) Windows(context.Context, time.Time, time.Time, time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		yield(heat.Window{Start: w.Start, Items: []heat.Item{heat.Item(w)}}, nil)
	}
}

// TestAttached checks the report on the table that a deployment is attached to. Its heat names the table; hotshard's own
// tables do not exist.
func TestAttached(t *testing.T) {
	s := stormOf(t, explain.Reason{ID: explain.ID{Table: orders}, Operation: explain.Write, Cause: explain.KeyRange})
	names := schema.NamesFor("t-")
	keys := explain.HotKeys{Table: names.OfKey, Source: oneWindow{
		Table: orders, Start: s.now, Window: 10 * time.Second, Limit: 6, HotRate: 4, Keys: []heat.Key{{Key: "C#page#0", Units: 59, Writes: 59}},
	}}
	o := s.options()
	o.Name, o.Tables, o.Deployment = "t-*", []string{names.Items, names.Events}, true
	r, err := explain.Run(t.Context(), explain.Sources{
		DynamoDB: s.reader, CloudWatch: s.client(t), Heat: keys.Read, Watched: keys.Watched,
		Advise: explain.Advice(names, nil, nil, func() time.Time { return s.now }),
	}, o)
	require.NoError(t, err)
	if r.Table != "t-*, orders" || len(r.Findings) != 1 || len(r.Findings[0].Keys) != 1 || r.Findings[0].Keys[0].Key != "C#page#0" || strings.Contains(r.Findings[0].Cure, "hotshard writes") {
		t.Errorf("report %+v, want one finding with the key of the heat", r)
	}
}

// TestAdviceForOwnTables checks that no advice is to shard a key of hotshard's own.
func TestAdviceForOwnTables(t *testing.T) {
	advise := explain.Advice(schema.NamesFor("t-"), nil, nil, func() time.Time { return enginetest.Later })
	for table, want := range map[string]string{"t-shard-map": "If it is brief, do nothing", "t-rollups": "If it is brief, do nothing", "t-heat": "If it is brief, do nothing", "t-items": ""} {
		k := explain.Key{Reason: explain.Reason{ID: explain.ID{Table: table}, Operation: explain.Read}, Key: "C#page#0"}
		if got := advise(t.Context(), k); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
}
