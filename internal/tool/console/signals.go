package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// SignalsAnswer is the JSON of GET /console/signals: a limiter's throttled writes, which streams don't contain.
type SignalsAnswer struct {
	Source    string           `json:"source"`         // "limiter", or empty if nothing counts throttled writes
	Note      string           `json:"note,omitempty"` // one sentence on why throttled writes are unknown or none
	From      time.Time        `json:"from"`
	To        time.Time        `json:"to"`
	Step      display.Duration `json:"step"`
	Throttled []*int64         `json:"throttled" nullable:"true" doc:"Throttled writes in each column; null if unknown"` // of all keys
	Keys      []ThrottledKey   `json:"keys"`                                                                             // by base key, or by partition key for keys without one
}

// ThrottledKey has the throttled writes of one key.
type ThrottledKey struct {
	Key       string   `json:"key"`
	Type      string   `json:"type,omitempty"`
	Name      string   `json:"name,omitempty"`
	Throttled []*int64 `json:"throttled" doc:"Throttled writes in each column; null if unknown"`
}

// Span is a time range in columns. From, To and Step are whole seconds, and To is after From.
type Span struct {
	From, To time.Time
	Step     time.Duration
	Index    string // a global index; empty for the table
}

// Columns returns a count of 0 for each Step. Counts of steps that begin before knownFrom are nil, which means unknown.
func (s Span) Columns(knownFrom time.Time) (columns []*int64) {
	for at := s.From; at.Before(s.To); at = at.Add(s.Step) {
		var count *int64
		if !at.Before(knownFrom) {
			count = new(int64)
		}
		columns = append(columns, count)
	}
	return columns
}

// Add adds a count to the column of a time, even if the column is nil. It ignores a count of 0, and times outside the span.
func (s Span) Add(columns []*int64, at time.Time, count int64) {
	if count == 0 || at.Before(s.From) || !at.Before(s.To) {
		return
	}
	column := &columns[at.Sub(s.From)/s.Step]
	if *column == nil {
		*column = new(int64)
	}
	**column += count
}

// Bounds and defaults of a span: those of GET /v1/heat.
const (
	defaultSpan = 15 * time.Minute
	defaultStep = 10 * time.Second
	maxColumns  = 1440
	maxIndex    = 255 // DynamoDB's limit
)

// parseSpan parses from, to, step and index, and extends the time to whole columns. The default is 15 minutes, by 10 s.
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
		return s, fmt.Errorf("to must be after from")
	case s.To.Sub(s.From) > maxColumns*s.Step:
		return s, fmt.Errorf("step %v: want at most %d columns; use a longer step or a shorter range", s.Step, maxColumns)
	}
	return s, nil
}

// parseTime parses a parameter as a time in RFC 3339. It returns ifMissing without the parameter.
func parseTime(query url.Values, name string, ifMissing time.Time) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return ifMissing, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s %.40q: want a time such as 2026-01-05T12:00:00Z", name, text)
	}
	return t.UTC(), nil
}

func serveSignals(signals func(Span) SignalsAnswer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		span, err := parseSpan(r.URL.Query(), time.Now())
		if err != nil {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(map[string]any{ // fails if the client has disconnected
				"title": http.StatusText(http.StatusUnprocessableEntity), "status": http.StatusUnprocessableEntity, "detail": err.Error(),
			})
			return
		}
		answer := SignalsAnswer{Note: "Throttled writes are unknown here: hotshard explain counts them."}
		if signals != nil {
			answer = signals(span)
		}
		answer.From, answer.To, answer.Step = span.From, span.To, display.Duration(span.Step)
		answer.Keys = append([]ThrottledKey{}, answer.Keys...) // not null
		writeJSON(w, answer)
	}
}
