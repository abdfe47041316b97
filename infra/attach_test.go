package infra

import (
	"maps"
	"strings"
	"testing"
)

const sourceStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-05T12:00:00.000"

var attached = map[string]any{"prefix": "hotshard-", "sourceStreamArn": sourceStream}

// attachedWith returns the settings of an attached deployment with another setting.
func attachedWith(key string, value any) map[string]any {
	context := maps.Clone(attached)
	context[key] = value
	return context
}

// TestAttachedAlarms checks the alarms of an attached deployment, whose descriptions must not name what it does not have.
func TestAttachedAlarms(t *testing.T) {
	got := alarms(t, with(t, attached))
	for _, name := range []string{"hot-keys", "source-hot-partition", "source-limit", "heat-hot-partition", "heat-limit", "hotkeys-behind", "hotkeys-gave-up", "hotkeys-not-polling",
		"hotkeys-errors", "hotkeys-throttles", "detector-state", "detector-errors", "detector-windows", "metrics-not-sent", "heat-not-done", "hotkeys-tasks-dropped"} {
		if got["hotshard-"+name] == nil {
			t.Errorf("there is no alarm %s", name)
		}
	}
	if len(got) != 16 {
		t.Errorf("alarms %q, want 16", sorted(got))
	}
	for _, of := range []map[string]object{got, alarms(t, with(t, attachedWith("metricNames", "off")))} {
		for name, a := range of {
			for _, absent := range []string{"/v1/", "peakWrites", "write shards by now", "shard count grew", "in its metrics"} {
				if strings.Contains(a.text("AlarmDescription"), absent) {
					t.Errorf("the description of %s has %s: %s", name, absent, a.text("AlarmDescription"))
				}
			}
		}
	}
	if query := text(got["hotshard-hot-keys"]["Metrics"]); !strings.Contains(query, "TableName = 'orders'") {
		t.Errorf("the hot keys' query is %s, want the table orders", query)
	}
}
