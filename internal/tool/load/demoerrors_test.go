package load

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// TestErrorsOfOneKindAreOneLine checks the lines of many errors from several goroutines and loggers.
func TestErrorsOfOneKindAreOneLine(t *testing.T) {
	var e ErrorCounts
	log := slog.New(&e)
	log.Warn("not counted")
	log.Error("unavailable", "error", errors.New("a timeout of key 0"))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				log.With("request", i).WithGroup("g").Error("unavailable", "error", errors.New("another"))
			}
		})
	}
	group.Wait()
	log.Error("not folded", "records", 3, "of", 5)
	want := []string{"1601 errors, the first: unavailable error=a timeout of key 0", "1 error: not folded records=3 of=5"}
	if got := e.TakeLines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := e.TakeLines(); got != nil {
		t.Errorf("%q were taken twice", got)
	}
}
