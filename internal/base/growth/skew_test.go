package growth_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/kind"
)

func TestSkew(t *testing.T) {
	for name, c := range map[string]struct {
		hottest, others float64
		n               int
		want            growth.Remedy
	}{
		"one alone":          {90, 0, 1, growth.Raise},
		"the other idle":     {90, 0, 2, growth.Spread},
		"a third on average": {90, 30, 2, growth.Raise},
		"just below":         {90, 29.9, 2, growth.Spread},
		"of four":            {90, 89.9, 4, growth.Spread},
		"of four, a third":   {90, 90, 4, growth.Raise},
		"nothing at all":     {0, 0, 4, growth.Raise},
	} {
		hot := growth.Hot{Type: kind.Counter, Limit: 100, Shards: c.n, Hottest: c.hottest, Others: c.others, Total: c.hottest + c.others}
		if got, _ := hot.Remedy(250); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestBound(t *testing.T) {
	for partitions, want := range map[int]int{0: 4, 1: 4, 4: 16, 249: 996, 250: 1000, 5000: 1000} {
		if got := growth.Bound(partitions); got != want {
			t.Errorf("%d partitions: %d, want %d", partitions, got, want)
		}
	}
}
