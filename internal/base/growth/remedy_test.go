package growth_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestRemedy checks the remedy and the count that goes with it. More write shards are the remedy if the others' mean rate is
// a third of the hottest's, or more.
func TestRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		hot        growth.Hot
		partitions int
		want       growth.Remedy
		count      int
	}{
		"only one":               {growth.Hot{Shards: 1, Hottest: 90, Total: 90}, 250, growth.Raise, 4},
		"the other is idle":      {growth.Hot{Shards: 2, Hottest: 90, Total: 90}, 250, growth.Spread, 2},
		"the other a third":      {growth.Hot{Shards: 2, Hottest: 90, Others: 30, Total: 120}, 250, growth.Raise, 5},
		"just below":             {growth.Hot{Shards: 2, Hottest: 90, Others: 29.9, Total: 120}, 250, growth.Spread, 2},
		"four, just below":       {growth.Hot{Shards: 4, Hottest: 90, Others: 89.9, Total: 180}, 250, growth.Spread, 4},
		"four, a third":          {growth.Hot{Shards: 4, Hottest: 90, Others: 90, Total: 180}, 250, growth.Raise, 8},
		"twice the need":         {growth.Hot{Shards: 1, Hottest: 26, Total: 26}, 250, growth.Raise, 2},
		"no load":                {growth.Hot{Shards: 4}, 250, growth.Raise, 8},
		"for the total":          {growth.Hot{Shards: 1, Hottest: 700, Total: 700}, 250, growth.Raise, 28},
		"for a total of events":  {growth.Hot{Type: schema.Event, Shards: 1, Hottest: 700, Total: 700}, 250, growth.Raise, 56},
		"up to the bound":        {growth.Hot{Shards: 3, Hottest: 700, Others: 1400, Total: 2100}, 1, growth.Raise, 4},
		"at the bound":           {growth.Hot{Shards: 4, Hottest: 700, Others: 2100, Total: 2800}, 1, growth.Split, 4},
		"skewed at the bound":    {growth.Hot{Shards: 4, Hottest: 700, Total: 700}, 1, growth.Spread, 4},
		"skewed at the maximum":  {growth.Hot{Shards: 1000, Hottest: 700, Total: 700}, 10_000, growth.Split, 1000},
		"a past bucket":          {growth.Hot{Type: schema.Event, Past: true, Shards: 4, Hottest: 90, Total: 90}, 250, growth.Pace, 4},
		"a past one, at maximum": {growth.Hot{Type: schema.Event, Past: true, Shards: 1000, Hottest: 90, Total: 90}, 1, growth.Pace, 1000},
	} {
		c.hot.Limit = 100
		if c.hot.Type == "" {
			c.hot.Type = schema.Counter
		}
		if got, count := c.hot.Remedy(c.partitions); got != c.want || count != c.count {
			t.Errorf("%s: %v with %d write shards, want %v with %d", name, got, count, c.want, c.count)
		}
	}
}
