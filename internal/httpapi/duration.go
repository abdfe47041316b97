package httpapi

import (
	"fmt"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Duration is a duration in a request or a response: 90s, 1h30m, 7d.
type Duration struct{ time.Duration }

// Schema describes the duration in the OpenAPI document.
func (Duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Examples: []any{"30m"}, Extensions: map[string]any{"pattern": durationForm.String()},
		Description: "A duration such as 90s, 1h30m, 7d or 1d12h, of days (d) first, then hours (h), minutes (m), seconds (s) and milliseconds (ms)",
	}
}

// durationForm matches the durations that UnmarshalText accepts. The OpenAPI document has it as a pattern.
var durationForm = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(d|ms|s|m|h))([0-9]+(\.[0-9]+)?(ms|s|m|h))*$`)

// UnmarshalText parses a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := display.ParseDuration(string(text))
	if err != nil || !durationForm.Match(text) {
		return callerText("it must be a duration such as 90s, 1h30m, 7d or 1d12h")
	}
	d.Duration = parsed
	return nil
}

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(display.Duration(d.Duration).String()), nil
}

// Within returns what the duration must be, or "" if it is a multiple of step from least to most, both included.
func (d Duration) Within(least, most, step time.Duration) string {
	switch {
	case d.Duration < least || d.Duration > most:
		return fmt.Sprintf("it must be %s to %s", display.Duration(least), display.Duration(most))
	case d.Duration%step != 0:
		return fmt.Sprintf("it must be a multiple of %s", display.Duration(step))
	}
	return ""
}

// DurationText is a Duration in a parameter, which may have a default.
type DurationText string

// Schema describes the duration in the OpenAPI document.
func (DurationText) Schema(r huma.Registry) *huma.Schema { return Duration{}.Schema(r) }

// Within returns the duration and "", or, if the text is no duration that fits [Duration.Within], what the text must
// be. The duration is then unusable.
func (t DurationText) Within(least, most, step time.Duration) (time.Duration, string) {
	var d Duration
	if err := d.UnmarshalText([]byte(t)); err != nil {
		return 0, err.Error()
	}
	return d.Duration, d.Within(least, most, step)
}
