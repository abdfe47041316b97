package lambda

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// box is a container that takes a minute for each request.
type box struct {
	t       *testing.T
	busy    bool
	stopped *int
}

func (b *box) serve(w http.ResponseWriter, r *http.Request) error {
	if b.busy {
		b.t.Error("a container got two requests at once")
	}
	b.busy = true
	time.Sleep(time.Minute)
	b.busy = false
	if r.URL.Path == "/die" {
		return errors.New("as instructed")
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (b *box) stop() error {
	*b.stopped++
	return nil
}

// calls makes n concurrent requests of a function and counts the responses by status. Rejections must be Lambda's.
func calls(t *testing.T, f *Fleet, function string, start start, n int, path string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	statuses := map[int]int{}
	for range n {
		wg.Go(func() {
			w := httptest.NewRecorder()
			f.serve(function, start, w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("")))
			mu.Lock()
			defer mu.Unlock()
			statuses[w.Code]++
			if rejected := w.Header().Get(ErrorHeader) == TooManyRequests && w.Header().Get("Retry-After") == "1"; rejected != (w.Code == 429) {
				t.Errorf("%d with %v", w.Code, w.Header())
			}
		})
	}
	wg.Wait()
	return statuses
}

// TestOneRequestAtATime checks that a container serves one request at a time, that functions share a quota, and that
// requests over it are rejected. Stop stops all containers.
func TestOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := 0
		f := NewFleet(Model{Concurrency: 3})
		start := func(context.Context) (container, error) { return &box{t: t, stopped: &stopped}, nil }
		for range 5 {
			if got := calls(t, f, "ingest", start, 10, "/"); got[http.StatusCreated] != 3 || got[http.StatusTooManyRequests] != 7 {
				t.Errorf("responses by status: %v, want 3 of 201 and 7 of 429", got)
			}
		}
		go calls(t, f, "ingest", start, 2, "/")
		synctest.Wait()
		if got := calls(t, f, "query", start, 2, "/"); got[http.StatusCreated] != 1 {
			t.Errorf("responses of a function beside one with 2 of 3 places: %v, want one 201", got)
		}
		synctest.Wait()
		got, want := f.Stats(), Stats{ColdStarts: 3, Requests: 52, Rejected: 35}
		if got["ingest"] != want || got["query"] != (Stats{1, 2, 1}) {
			t.Errorf("stats %+v, want %+v of ingest", got, want)
		}
		if err := f.Stop(); err != nil || stopped != 4 {
			t.Errorf("Stop returned %v after %d containers, want 4", err, stopped)
		}
	})
}
