package display

import (
	"errors"
	"math"
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

// String returns the duration as Go writes it, but without trailing units that are zero: 1m for 1m0s.
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
	parsed, err := ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// ParseAny is [ParseDuration] as an env.ParserFunc, for settings in environment variables.
func ParseAny(text string) (any, error) { return ParseDuration(text) }

var errDuration = errors.New("want a duration such as 90s, 1h30m, 7d or 1d12h")

// ParseDuration parses a duration in Go's form, which may begin with days of 24 hours: 7d, or -1d12h for -36 hours. Its
// error says which form is valid, and does not repeat the text.
func ParseDuration(text string) (time.Duration, error) {
	number, rest, inDays := strings.Cut(text, "d")
	if !inDays {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, errDuration
		}
		return d, nil
	}
	digits := strings.TrimLeft(number, "+-")
	sign := strings.TrimSuffix(number, digits)
	hours, err := time.ParseDuration(number + "h") // one for each day
	if err != nil || strings.Trim(digits, "0123456789.") != "" || hours.Abs() > math.MaxInt64/24 {
		return 0, errDuration
	}
	days := 24 * hours
	if rest == "" {
		return days, nil
	}
	withinDay, err := time.ParseDuration(sign + rest)
	sum := days + withinDay
	overflows := (sum < 0) != (days < 0 || withinDay < 0)
	if err != nil || overflows {
		return 0, errDuration
	}
	return sum, nil
}
