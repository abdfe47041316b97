package httpapi

import (
	"bytes"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/schema"
)

// FormatTime gives a time as answers show it: RFC 3339 in UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(schema.TimeLayout) }

// Time is a time that a caller gives, in a body or a parameter: RFC 3339 to the letter,
// and its t and z may be small, as that allows.
type Time struct{ time.Time }

const errNotTime fault = "it must be a time as RFC 3339 has it, such as 2026-01-05T12:00:00Z"

// UnmarshalText reads a time.
func (t *Time) UnmarshalText(text []byte) error {
	if t.Time.UnmarshalText(bytes.ToUpper(text)) != nil {
		return errNotTime
	}
	return nil
}

// UnmarshalJSON reads a time from a JSON string.
func (t *Time) UnmarshalJSON(value []byte) error {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return errNotTime
	}
	return t.UnmarshalText([]byte(text))
}

// Schema describes it in the OpenAPI document. The type alone reads it: what checks the
// format date-time knows no small letters, and takes what is none.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-05T12:00:00.125Z"}, Extensions: map[string]any{"format": "date-time"}}
}
