package display

import "testing"

// TestSeveral checks that numbers agree with their nouns.
func TestSeveral(t *testing.T) {
	for want, got := range map[string]string{
		"0 throttles": Several(0, "throttle"), "1 throttle": Several(1, "throttle"), "2 throttles": Several(2, "throttle"),
		"1 summary": Several(1, "summary"), "3 queries": Several(3, "query"), "2 entities": Several(2, "entity"), "4 keys": Several(4, "key"),
		"1 throttle is": SeveralAre(1, "throttle"), "2 throttles are": SeveralAre(2, "throttle"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
