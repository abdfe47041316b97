package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// signalsOf requests /console/signals from a handler with this source, which may be nil.
func signalsOf(t *testing.T, source func(Span) SignalsAnswer, query string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(http.NotFoundHandler(), About{Signals: source}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/console/signals?"+query, nil))
	return w
}

// TestSignalsAreDividedIntoColumns checks that throttled writes are in the column of their time. Those outside the span
// are omitted.
func TestSignalsAreDividedIntoColumns(t *testing.T) {
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	signals := func(s Span) SignalsAnswer {
		out := SignalsAnswer{Source: "limiter", Throttled: s.Columns(time.Time{})}
		for second, count := range map[int]int64{-1: 6, 0: 1, 9: 2, 12: 100, 59: 10, 60: 7} {
			s.Add(out.Throttled, from.Add(time.Duration(second)*time.Second), count)
		}
		return out
	}
	w := signalsOf(t, signals, "from=2026-05-01T12:00:04Z&to=2026-05-01T12:00:58Z&step=10s")
	var got struct {
		From, To     time.Time
		Step, Source string
		Throttled    []int64
		Keys         []ThrottledKey
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err, w.Body)
	}
	if want := []int64{3, 100, 0, 0, 0, 10}; !slices.Equal(got.Throttled, want) {
		t.Errorf("throttled: %v, want %v", got.Throttled, want)
	}
	if !got.From.Equal(from) || !got.To.Equal(from.Add(time.Minute)) || got.Step != "10s" || got.Source != "limiter" || got.Keys == nil {
		t.Errorf("signals %s, want six columns of 10s from the limiter", w.Body)
	}
}

// TestUnknownThrottledWritesAreNull checks that a column without throttled writes is null if the source knows only a part
// of it.
func TestUnknownThrottledWritesAreNull(t *testing.T) {
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	signals := func(s Span) SignalsAnswer {
		known := from.Add(15 * time.Second)
		out := SignalsAnswer{Source: "limiter", Throttled: s.Columns(known), Keys: []ThrottledKey{{Key: "C#a", Throttled: s.Columns(known)}}}
		s.Add(out.Throttled, from.Add(5*time.Second), 0)
		s.Add(out.Throttled, from.Add(50*time.Second), 7)
		s.Add(out.Keys[0].Throttled, from.Add(10*time.Second), 3)
		return out
	}
	w := signalsOf(t, signals, "from=2026-05-01T12:00:00Z&to=2026-05-01T12:01:00Z&step=10s")
	for _, want := range []string{`"throttled":[null,null,0,0,0,7]`, `"key":"C#a","throttled":[null,3,0,0,0,0]`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("signals %s, want %s", w.Body, want)
		}
	}
}

func TestSignalsWithoutSourceAreNull(t *testing.T) {
	w := signalsOf(t, nil, "")
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got["source"] != "" || got["throttled"] != nil || got["step"] != "10s" || !strings.Contains(w.Body.String(), "hotshard explain") {
		t.Errorf("signals %s, %v", w.Body, err)
	}
}

func TestInvalidSpansAreRejected(t *testing.T) {
	for _, query := range []string{"step=1.5s", "step=0s", "step=x", "from=yesterday", "to=9", "from=2026-05-01T12:00:00Z&to=2026-05-01T11:00:00Z",
		"from=2026-05-01T12:00:00Z&to=2026-05-02T12:00:00Z&step=1s", "from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z"} {
		if w := signalsOf(t, nil, query); w.Code != 422 || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, want 422 as problem JSON", query, w.Code, w.Body)
		}
	}
}
