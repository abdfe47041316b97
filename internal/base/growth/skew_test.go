package growth_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/kind"
)

// TestRemedyOnSkew checks that more write shards are the remedy if the others' mean rate is a third of the hottest's,
// or more. Otherwise it is to spread the keys.
func TestRemedyOnSkew(t *testing.T) {
	for name, c := range map[string]struct {
		hottest, others float64 // WCU/s of the hottest write shard, and of all others together
		n               int     // write shards
		want            growth.Remedy
	}{
		"only one":          {90, 0, 1, growth.Raise},
		"the other is idle": {90, 0, 2, growth.Spread},
		"the other a third": {90, 30, 2, growth.Raise},
		"just below":        {90, 29.9, 2, growth.Spread},
		"four, just below":  {90, 89.9, 4, growth.Spread},
		"four, a third":     {90, 90, 4, growth.Raise},
		"no load":           {0, 0, 4, growth.Raise},
	} {
		hot := growth.Hot{Type: kind.Counter, Limit: 100, Shards: c.n, Hottest: c.hottest, Others: c.others, Total: c.hottest + c.others}
		if got, _ := hot.Remedy(250); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
