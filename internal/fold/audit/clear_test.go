package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
)

// TestGoneForgetsWhatItSawFirst: the first look finds entries in the index and the
// summaries alike, and the second one finds them gone. Nothing was written meanwhile.
func TestGoneForgetsWhatItSawFirst(t *testing.T) {
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(5)...)
	r.looked(t)
	a := r.auditor(t, quick(nil))
	r.eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
	client := &interrupted{Client: r.db, calls: map[string]int{}, before: func(call string, n int) {
		if call == "index" && n == 2 {
			for i := range 5 {
				pk, sk := schema.EntryKey("b", "all", fmt.Sprint("p", i))
				r.delete(t, r.names.Items, pk, sk)
			}
		}
	}}
	o := audit.Options{Names: r.names, Rules: r.rules, Repair: true, Gone: true, IndexLag: time.Second, Wait: time.Minute, Poll: 20 * time.Millisecond}
	got, err := r.auditorOver(t, client, o).Check(t.Context(), boardTarget("b"))
	if err != nil || got.Items != 0 || len(got.Findings) == 0 || !got.Right() {
		t.Errorf("%+v, %v", got, err)
	}
	if left := r.get(t, r.names.Rollups, schema.BoardRollupKey("b", "all"), schema.TopSK); left != nil {
		t.Errorf("the top is left: %v", left)
	}
}
