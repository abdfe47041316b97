package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Signals has a limiter's throttled writes and splits, which streams don't contain.
type Signals struct {
	Source string // "limiter", or empty if there is none
	Note   string // one sentence on why throttled writes are unknown or none; may be empty

	Throttled []int64        // throttled writes of all keys in each column; nil if unknown
	Keys      []ThrottledKey // throttled writes by base key, or by partition key for keys without one
	Splits    []SplitSignal  // oldest first

	// Throttled writes are known from KnownFrom on. A column that begins before is unknown if it has no throttled writes.
	KnownFrom time.Time
}

// known returns the throttled writes in each column, nil for columns in which they are unknown.
func (s *Signals) known(span Span, columns []int64) []*int64 {
	if columns == nil {
		return nil
	}
	list := make([]*int64, len(columns))
	for i := range columns {
		if begin := span.From.Add(time.Duration(i) * span.Step); columns[i] > 0 || !begin.Before(s.KnownFrom) {
			list[i] = &columns[i]
		}
	}
	return list
}

// ThrottledKey has the throttled writes of one key.
type ThrottledKey struct {
	Key       string  `json:"key"`
	Type      string  `json:"type,omitempty"`
	Name      string  `json:"name,omitempty"`
	Throttled []int64 `json:"throttled"` // in each column
}

// SplitSignal is a split of a partition.
type SplitSignal struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"` // one sentence
}

// Span is a time range in columns. From, To and Step are whole seconds, and To is after From.
type Span struct {
	From, To time.Time
	Step     time.Duration
	Index    string // a global index; empty for the table
}

// Columns returns the number of columns.
func (s Span) Columns() int { return int((s.To.Sub(s.From) + s.Step - 1) / s.Step) }

// Add adds a count to the column of a time. It ignores times outside the span.
func (s Span) Add(columns []int64, at time.Time, count int64) {
	if !at.Before(s.From) && at.Before(s.To) {
		columns[at.Sub(s.From)/s.Step] += count
	}
}

// Bounds of a span, which are those of GET /v1/heat.
const (
	defaultSpan = 15 * time.Minute
	defaultStep = 10 * time.Second
	maxColumns  = 1440
	maxIndex    = 255 // DynamoDB's limit
)

// parseSpan parses from, to, step and index. The default is the last 15 minutes in columns of 10 s.
func parseSpan(query url.Values, now time.Time) (Span, error) {
	s := Span{To: now.UTC(), Step: defaultStep, Index: query.Get("index")}
	if len(s.Index) > maxIndex {
		return s, fmt.Errorf("index: want at most %d characters", maxIndex)
	}
	var err error
	if text := query.Get("step"); text != "" {
		if s.Step, err = display.ParseDuration(text); err != nil || s.Step < time.Second || s.Step%time.Second != 0 {
			return s, fmt.Errorf("step %.40q: want whole seconds, such as 10s", text)
		}
	}
	if s.To, err = parseTime(query, "to", s.To); err != nil {
		return s, err
	}
	if s.From, err = parseTime(query, "from", s.To.Add(-defaultSpan)); err != nil {
		return s, err
	}
	s.From, s.To = s.From.Truncate(s.Step), s.To.Add(s.Step-1).Truncate(s.Step)
	switch {
	case !s.To.After(s.From):
		return s, fmt.Errorf("to: must be after from")
	case s.To.Sub(s.From) > maxColumns*s.Step:
		return s, fmt.Errorf("step %v: want at most %d columns; use a longer step or a shorter range", s.Step, maxColumns)
	}
	return s, nil
}

func parseTime(query url.Values, name string, missing time.Time) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return missing, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s %.40q: want a time such as 2026-01-05T12:00:00Z", name, text)
	}
	return t.UTC(), nil
}

// SignalsAnswer is the JSON of GET /console/signals.
type SignalsAnswer struct {
	Source    string           `json:"source"`
	Note      string           `json:"note,omitempty"`
	From      time.Time        `json:"from"`
	To        time.Time        `json:"to"`
	Step      display.Duration `json:"step"`
	Throttled []*int64         `json:"throttled" nullable:"true" doc:"Throttled writes in each column; null if unknown"`
	Keys      []throttledKey   `json:"keys"`
	Splits    []SplitSignal    `json:"splits"`
}

// throttledKey is the JSON of a ThrottledKey.
type throttledKey struct {
	ThrottledKey
	Throttled []*int64 `json:"throttled" doc:"Throttled writes in each column; null if unknown"`
}

func serveSignals(signals func(context.Context, Span) Signals) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		span, err := parseSpan(r.URL.Query(), time.Now())
		if err != nil {
			writeProblem(w, err)
			return
		}
		s := Signals{Note: "Throttled writes are unknown here: hotshard explain counts them."}
		if signals != nil {
			s = signals(r.Context(), span)
		}
		out := SignalsAnswer{Source: s.Source, Note: s.Note, From: span.From, To: span.To, Step: display.Duration(span.Step), Throttled: s.known(span, s.Throttled)}
		out.Keys = []throttledKey{}
		for _, k := range s.Keys {
			out.Keys = append(out.Keys, throttledKey{k, s.known(span, k.Throttled)})
		}
		out.Splits = []SplitSignal{}
		for _, split := range s.Splits {
			if !split.Time.Before(span.From) && split.Time.Before(span.To) {
				out.Splits = append(out.Splits, split)
			}
		}
		writeJSON(w, out)
	}
}

// writeProblem answers a request whose parameters are invalid.
func writeProblem(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(map[string]any{ // fails if the client has disconnected
		"title": http.StatusText(http.StatusUnprocessableEntity), "status": http.StatusUnprocessableEntity, "detail": err.Error(),
	})
}
