package growth_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/growth"
)

func TestSkewed(t *testing.T) {
	for name, c := range map[string]struct {
		hottest, others float64
		n               int
		want            bool
	}{
		"one alone":          {90, 0, 1, false},
		"the other idle":     {90, 0, 2, true},
		"a third on average": {90, 30, 2, false},
		"just below":         {90, 29.9, 2, true},
		"of four":            {90, 89.9, 4, true},
		"of four, a third":   {90, 90, 4, false},
		"nothing at all":     {0, 0, 4, false},
	} {
		if got := growth.Skewed(c.hottest, c.others, c.n); got != c.want {
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
