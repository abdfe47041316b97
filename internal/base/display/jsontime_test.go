package display

import (
	"encoding/json"
	"testing"
	"time"
)

// TestJSON checks that times are in UTC and milliseconds, and durations without empty units.
func TestJSON(t *testing.T) {
	type both struct {
		At   Time     `json:"at,omitzero"`
		Step Duration `json:"step"`
	}
	for want, value := range map[string]both{
		`{"step":"0s"}`: {},
		`{"at":"2026-01-05T12:00:00.000Z","step":"10s"}`:    {Time{time.Date(2026, 1, 5, 13, 0, 0, 0, time.FixedZone("", 3600))}, Duration(10 * time.Second)},
		`{"at":"2026-01-05T12:00:00.120Z","step":"1m"}`:     {Time{time.Date(2026, 1, 5, 12, 0, 0, 120_999_999, time.UTC)}, Duration(time.Minute)},
		`{"at":"2026-01-05T12:00:00.000Z","step":"1h30m"}`:  {Time{time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}, Duration(90 * time.Minute)},
		`{"at":"2026-01-05T12:00:00.000Z","step":"720h"}`:   {Time{time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}, Duration(720 * time.Hour)},
		`{"at":"2026-01-05T12:00:00.000Z","step":"1h0m5s"}`: {Time{time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}, Duration(time.Hour + 5*time.Second)},
	} {
		got, err := json.Marshal(value)
		var back both
		if err != nil || string(got) != want || json.Unmarshal(got, &back) != nil || back.Step != value.Step || back.At.Sub(value.At.Time).Abs() >= time.Millisecond {
			t.Errorf("%s, %v, and back %v; want %s", got, err, back, want)
		}
	}
}

// TestParseDuration checks durations with days, and texts that are none.
func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "1.5d30m": 36*time.Hour + 30*time.Minute,
		"0d": 0, "-1d12h": -36 * time.Hour, "106751d": 106751 * day, "720h": 30 * day,
	} {
		var d Duration
		if got, err := ParseDuration(text); err != nil || got != want || d.UnmarshalText([]byte(text)) != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1", "1w", "soon", "12h1d", "1d2d", "1d-2h", "1h1d", "1d ", "1d12", ".d", "106752d", "106751d24h", "9e9d", "1_0d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
