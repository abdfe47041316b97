package explain

import (
	"testing"
)

// TestRatesHaveNoExponent checks that rates of 100 and more are printed as people write them.
func TestRatesHaveNoExponent(t *testing.T) {
	for _, c := range []struct {
		key  KeyRate
		want string
	}{
		{KeyRate{Key: "k", Throttles: 118.02}, "k, 120 throttles a second"},
		{KeyRate{Key: "k", Throttles: 1}, "k, 1 throttle a second"},
		{KeyRate{Key: "k", Throttles: 0.123, Units: 12345.6}, "k, 12350 WCU/s in its hottest window, 0.12 throttles a second"},
	} {
		if got := line(c.key); got != c.want {
			t.Errorf("%+v: %q, want %q", c.key, got, c.want)
		}
	}
}
