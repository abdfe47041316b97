package jsontime

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
