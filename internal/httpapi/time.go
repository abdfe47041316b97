package httpapi

import (
	"bytes"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/schema"
)

// FormatTime gives a time as answers show it: RFC 3339 in UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(schema.TimeLayout) }

// Time is a time that a caller gives, in a body or a parameter: RFC 3339 to the letter,
// and its t and z may be small, as that allows.
type Time struct{ time.Time }

const errNotTime fault = "it must be a time as RFC 3339 has it, such as 2026-01-05T12:00:00Z"

// timeForm is narrower than what the standard library takes.
var timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// UnmarshalText reads a time.
func (t *Time) UnmarshalText(text []byte) error {
	text = bytes.ToUpper(text)
	if !timeForm.Match(text) || t.Time.UnmarshalText(text) != nil {
		return errNotTime
	}
	return nil
}

// UnmarshalJSONFrom reads a time from a JSON string, in place of the standard library's
// way.
func (t *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	value = value.Clone()
	var text string
	if json.Unmarshal(value, &text) != nil || t.UnmarshalText([]byte(text)) != nil {
		return &json.SemanticError{JSONValue: value, Err: errNotTime}
	}
	return nil
}

// Schema describes it in the OpenAPI document. The type alone reads it: what checks the
// format date-time knows no small letters, and takes what is none.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-05T12:00:00.125Z"}, Extensions: map[string]any{"format": "date-time"}}
}
