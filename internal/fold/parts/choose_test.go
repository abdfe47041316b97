package parts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestChoose checks which fragments one transaction merges: 99 with 3 MB at most.
func TestChoose(t *testing.T) {
	merged := part(schema.MergedPart, "1", 5)
	emptied, damaged, large := merged, merged, merged
	emptied.Sequence, damaged.Damage, large.Value = "1~", errors.New("x"), wide(MaxMeasures)
	many := func(n int, p Part[Rollup]) (list []Part[Rollup]) {
		for i := range n {
			p.StreamShard = fmt.Sprint("s", i)
			list = append(list, p)
		}
		return list
	}
	one := part("", "1", 1)
	for name, c := range map[string]struct {
		read []Part[Rollup]
		want int // with the merged one
	}{
		"none":                     {nil, 0},
		"one":                      {many(1, one), 0},
		"two":                      {many(2, one), 2},
		"one into a merged one":    {append(many(1, one), merged), 2},
		"only a merged one":        {[]Part[Rollup]{merged}, 0},
		"one, and an emptied sum":  {append(many(1, one), emptied), 0},
		"two, and an emptied sum":  {append(many(2, one), emptied), 3},
		"two, and a damaged sum":   {append(many(2, one), damaged), 0},
		"99":                       {many(99, one), 99},
		"100":                      {many(100, one), 99},
		"99 into a merged one":     {append(many(99, one), merged), 100},
		"emptied ones":             {many(3, part("", "1~", 0)), 0},
		"unwanted ones":            {many(3, part("", "2", 1)), 0},
		"200 fields and more":      {append(many(11, Part[Rollup]{Sequence: "1", Value: Rollup{Events: 1, Measures: fields("a", 200)}}), Part[Rollup]{StreamShard: "z", Sequence: "1", Value: wide(1)}), 11},
		"fields of the merged one": {append(many(1, Part[Rollup]{Sequence: "1", Value: Rollup{Measures: fields("a", 181)}}), large), 0},
	} {
		got := events(nil).Choose(c.read, func(p Part[Rollup]) bool { return p.Sequence != "2" })
		if len(got) != c.want {
			t.Errorf("%s: %d chosen, want %d", name, len(got), c.want)
		}
	}
	var full Histogram
	for i := range uint64(1536) { // 32 KB with the overhead
		full.Add(i<<44|i, 1)
	}
	var read []Part[Histogram]
	for i := range 99 {
		read = append(read, Part[Histogram]{StreamShard: fmt.Sprint(i), Sequence: "1", Value: full})
	}
	got := NewHistograms(nil, "", func() time.Time { return now }).Choose(read, func(Part[Histogram]) bool { return true })
	if len(got) != 96 || full.Cells() != 1536 {
		t.Errorf("%d fragments of %d cells chosen, want 96 with 3 MB", len(got), full.Cells())
	}
}

// fields returns n measures with these names and a number.
func fields(name string, n int) map[string]Measure {
	list := map[string]Measure{}
	for i := range n {
		list[fmt.Sprint(name, i)] = Measure{N: 1}
	}
	return list
}

func wide(n int) Rollup { return Rollup{Events: 1, Measures: fields("w", n)} }
