// Package jsontime has the JSON forms of times and durations in the API's responses.
package jsontime

import (
	"strings"
	"time"
)

// Time is a time whose JSON is RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// String returns the time as JSON has it, without quotes.
func (t Time) String() string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// Duration is a duration whose JSON is text such as 10s or 1h30m.
type Duration time.Duration

// String returns the duration without units that are zero: 1m, where Go writes 1m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
