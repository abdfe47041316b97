package foldcost

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/local/enginetest"
)

func TestLoads(t *testing.T) {
	faulty := 0
	for _, l := range loads(50_000) {
		if l.faults {
			faulty++
		}
		for _, y := range ways {
			if n := l.with(y).records; n < 10_000 || l.faults && y.batch > 0 && n < faultEvery*y.batch {
				t.Errorf("%s: %s folds %d records", l, y.name, n)
			}
		}
	}
	if len(loads(1)) != 8 || faulty != 3 {
		t.Errorf("there are %d loads, %d with faults", len(loads(1)), faulty)
	}
}

func TestTable(t *testing.T) {
	var w strings.Builder
	if err := (load{targets: 5, sources: 1, records: 20}).print(t.Context(), &w, enginetest.Endpoint(t)); err != nil {
		t.Fatal(err)
	}
	if got := w.String(); strings.Count(got, "\n| ") != 2+len(ways) || !strings.Contains(got, "| hotshard | 100 | 20 |") {
		t.Errorf("got %s", got)
	}
}
