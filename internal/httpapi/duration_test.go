package httpapi

import (
	"testing"
	"time"
)

// TestDurations checks that a duration's text can be parsed back, and the bounds and the precision of Within.
func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Duration != want {
			t.Errorf("%s: %v, %v; want %v", text, d, err, want)
		}
		again := Duration{}
		if shown, err := d.MarshalText(); err != nil || again.UnmarshalText(shown) != nil || again != d {
			t.Errorf("%s is marshalled as %s, %v", text, shown, err)
		}
	}
	if (&Duration{}).UnmarshalText([]byte("soon")) == nil {
		t.Error("soon is accepted as a duration")
	}
	for d, fits := range map[time.Duration]bool{time.Second: true, time.Hour: true, time.Second - 1: false, time.Hour + 1: false, 1500 * time.Millisecond: false} {
		if got := (Duration{d}).Within(time.Second, time.Hour, time.Second); (got == "") != fits {
			t.Errorf("%v within 1s and 1h in seconds: %q, want accepted %t", d, got, fits)
		}
	}
}
