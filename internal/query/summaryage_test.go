package query

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestSummaryAge checks that reads within SummaryAge get the cached summary, also if there was none, with its as_of. An age
// of 0 disables the cache.
func TestSummaryAge(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "7", time.Hour: "0"} {
		r := newRig(t)
		r.serve(r.client, func(s *Settings) { s.SummaryAge = age })
		var first, second counterAnswerJSON
		r.get("/v1/counters?name=x", &first)
		item := dynamo.Key(schema.CounterKey("x", 0))
		item["value"], item["rev"] = dynamo.Number(7), dynamo.Number(7)
		r.putItem(r.names.Items, item)
		r.now = r.now.Add(time.Second)
		r.get("/v1/counters?name=x", &second)
		if second.Value.String() != want || (age > 0) != (second.AsOf == first.AsOf) {
			t.Errorf("age %v: %+v after %+v, want %s", age, second, first, want)
		}
	}
}

// TestSettings checks the bounds of each setting, and the defaults of the others.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		invalid  string
	}{
		{Settings{}, ""}, {Settings{SummaryAge: time.Hour, RollupRetention: 1, PartitionWCU: 1}, ""},
		{Settings{SummaryAge: -1}, "SUMMARY_AGE"}, {Settings{SummaryAge: time.Hour + 1}, "SUMMARY_AGE"}, {Settings{RollupRetention: -1}, "ROLLUP_RETENTION"}, {Settings{PartitionWCU: -1}, "PARTITION_WCU"},
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
