package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestEntriesDeletedDuringAnAudit checks that an audit with Gone empties the summaries of a board whose
// entries were deleted between its two reads.
func TestEntriesDeletedDuringAnAudit(t *testing.T) {
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(5)...)
	r.rechecked(t)
	a := r.auditor(quick(nil))
	enginetest.Eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
	client := r.interrupted(func(call string) {
		if call == "index 2" {
			for i := range 5 {
				pk, sk := schema.EntryKey("b", "all", fmt.Sprint("p", i))
				r.delete(t, r.names.Items, pk, sk)
			}
		}
	})
	o := audit.Options{Names: r.names, Rules: r.rules, Repair: true, Gone: true, IndexLag: time.Second, Wait: time.Minute, Poll: 20 * time.Millisecond}
	got, err := audit.New(o, client).Check(t.Context(), boardTarget("b"))
	if err != nil || got.Items != 0 || len(got.Findings) == 0 || !got.Right() {
		t.Errorf("the audit returned %+v, %v; want a repaired finding and no items", got, err)
	}
	if left := r.get(t, r.names.Rollups, schema.BoardRollupKey("b", "all"), schema.TopSK); left != nil {
		t.Errorf("the top is left: %v", left)
	}
}
