package httpapi

import (
	"bytes"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/display"
)

// FormatTime returns a time as in responses: RFC 3339 in UTC, with milliseconds.
func FormatTime(t time.Time) string { return display.Time{Time: t}.String() }

// Time is a time that a caller sends in a body or a parameter. It must be RFC 3339, with T and Z in upper or lower
// case.
type Time struct {
	time.Time
	sent bool
}

// IsZero reports whether no time was sent. Go's zero time may be sent.
func (t Time) IsZero() bool { return !t.sent && t.Time.IsZero() }

const (
	errNotTime callerText = "it must be a time as RFC 3339 has it, such as 2026-01-05T12:00:00Z"
	errPlus    callerText = "the + of its time zone must be sent as %2B in a URL"
	errYear    callerText = "its year in UTC must be 0000 to 9999"
)

// timeForm matches RFC 3339. The standard library also accepts malformed times.
var timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// UnmarshalText parses a time of RFC 3339, in the years 0000 to 9999 in UTC. Callers may see its errors.
func (t *Time) UnmarshalText(text []byte) error {
	text = bytes.ToUpper(text)
	if !timeForm.Match(text) {
		if timeForm.Match(bytes.ReplaceAll(text, []byte(" "), []byte("+"))) {
			return errPlus
		}
		return errNotTime
	}
	if t.Time.UnmarshalText(text) != nil {
		return errNotTime
	}
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return errYear
	}
	t.sent = true
	return nil
}

// UnmarshalJSONFrom parses a JSON string by UnmarshalText, not by the standard library's rules.
func (t *Time) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	value, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	value = value.Clone()
	var text string
	if json.Unmarshal(value, &text) != nil {
		return &json.SemanticError{JSONValue: value, Err: errNotTime}
	}
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return &json.SemanticError{JSONValue: value, Err: err}
	}
	return nil
}

// Schema describes the time in the OpenAPI document. The format is an extension, so that only UnmarshalText validates
// it: the framework's check rejects lower case and accepts malformed times.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-05T12:00:00.125Z"}, Extensions: map[string]any{"format": "date-time"}}
}
