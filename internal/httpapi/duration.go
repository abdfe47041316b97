package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Duration is a length of time as callers write it: 90s, 30m, 1h30m.
type Duration struct{ time.Duration }

// Schema describes it in the OpenAPI document.
func (Duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Examples: []any{"30m"}, Extensions: map[string]any{"pattern": durationForm.String()},
		Description: "A duration such as 90s, 30m or 1h30m, of hours (h), minutes (m), seconds (s) and milliseconds (ms)",
	}
}

// durationForm is what the document says, and UnmarshalText goes by.
var durationForm = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || !durationForm.Match(text) {
		return fault("it must be a duration such as 90s, 30m or 1h30m")
	}
	d.Duration = parsed
	return nil
}

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(shown(d.Duration)), nil }

// Within says why a duration is not between these two, both included, or not a
// multiple of step; "" if it is.
func (d Duration) Within(least, most, step time.Duration) string {
	switch {
	case d.Duration < least || d.Duration > most:
		return fmt.Sprintf("it must be %s to %s", shown(least), shown(most))
	case d.Duration%step != 0:
		return fmt.Sprintf("it must be a multiple of %s", shown(step))
	}
	return ""
}

// shown writes a duration as callers would: 720h, where Go writes 720h0m0s.
func shown(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// DurationText is a Duration in a parameter, which may have a default.
type DurationText string

// Schema describes it in the OpenAPI document.
func (DurationText) Schema(r huma.Registry) *huma.Schema { return Duration{}.Schema(r) }

// Within reads the duration, or says why there is none, or none within these bounds.
func (t DurationText) Within(least, most, step time.Duration) (time.Duration, string) {
	var d Duration
	if err := d.UnmarshalText([]byte(t)); err != nil {
		return 0, err.Error()
	}
	return d.Duration, d.Within(least, most, step)
}
