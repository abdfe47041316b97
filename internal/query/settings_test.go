package query

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestSettings checks the bounds of each setting, and the defaults of the others.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		invalid  string
	}{
		{Settings{}, ""}, {Settings{RollupRetention: 1}, ""},
		{Settings{RollupRetention: -1}, "ROLLUP_RETENTION"},
	} {
		_, err := New(c.settings, nil)
		if (err == nil) != (c.invalid == "") || err != nil && !strings.Contains(err.Error(), "HOTSHARD_"+c.invalid+" is ") {
			t.Errorf("%+v: %v", c.settings, err)
		}
		if handler, err := Handler(t.Context(), c.settings, nil, slog.New(slog.DiscardHandler)); c.invalid != "" && (handler != nil || err == nil) {
			t.Errorf("%+v: %v, want no handler", c.settings, err)
		}
	}
	for _, c := range []struct{ deadline, retention, wantDeadline, wantSpan time.Duration }{{0, 0, Deadline, 720 * time.Hour}, {Deadline + 1, time.Hour, Deadline + 1, time.Hour}} {
		s, err := New(Settings{Deadline: c.deadline, EventRetention: c.retention}, nil)
		if err != nil || s.settings.Deadline != c.wantDeadline || s.heat.options.Deadline != c.wantDeadline || s.events.span != c.wantSpan || s.rollups.span != c.wantSpan {
			t.Errorf("%+v: %+v, %v", c, s.settings, err)
		}
	}
}
