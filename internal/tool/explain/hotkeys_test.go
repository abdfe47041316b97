package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/tool/explain"
)

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
