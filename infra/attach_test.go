package infra

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/hotkeys"
)

const sourceStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-05T12:00:00.000"

var attached = map[string]any{"prefix": "hotshard-", "sourceStreamArn": sourceStream}

// attachedWith returns the settings of an attached deployment with another setting.
func attachedWith(key string, value any) map[string]any {
	context := maps.Clone(attached)
	context[key] = value
	return context
}

// TestSourceKey checks that a table's KMS key may be used through DynamoDB only.
func TestSourceKey(t *testing.T) {
	const key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	tm := with(t, attachedWith("sourceKeyArn", key))
	want := statement{"kms:Decrypt", key, `{"StringEquals":{"kms:ViaService":"dynamodb.eu-central-1.amazonaws.com"}}`}
	if got := rights(t, tm, "hotkeys"); !slices.Contains(got, want) {
		t.Errorf("hotkeys may %v, want %v", got, want)
	}
	if strings.Contains(string(with(t, attached).text), "kms:") {
		t.Error("there is a grant on a key without the setting sourceKeyArn")
	}
}

// TestAttached checks that only the detector is deployed over an existing table, with its metrics, alarms and
// dashboard. It must not be able to change the table.
func TestAttached(t *testing.T) {
	tm := with(t, attached)
	if tables, functions := tm.of(t, "AWS::DynamoDB::GlobalTable"), tm.of(t, "AWS::Lambda::Function"); len(tables) != 1 || len(functions) != 1 {
		t.Errorf("%d tables and %d functions, want one of each", len(tables), len(functions))
	}
	heat := table(t, tm, "heat")
	if strings.Contains(string(tm.text), `"AWS::ApiGatewayV2::Api"`) {
		t.Error("there is an API")
	}
	if list := tm.of(t, "AWS::Scheduler::Schedule"); len(list) != 1 || list["HeatSchedule"].Properties.object("Target").text("Input") != hotkeys.HeatTask {
		t.Errorf("schedules %v, want only heat", list)
	}
	_, function := tm.function(t, "hotkeys")
	variables := function.object("Environment").object("Variables")
	if variables["HOTSHARD_SOURCE_TABLE"] != "orders" || variables.text("HOTSHARD_HEAT_TABLE") != "hotshard-heat" {
		t.Errorf("environment %v", variables)
	}
	if p := mapping(t, tm, "hotkeys", ""); p.text("EventSourceArn") != sourceStream || p.number("TumblingWindowInSeconds") != 10 ||
		p.text("StartingPosition") != "LATEST" || p.number("MaximumRecordAgeInSeconds") != 3600 { // not from the start of the stream
		t.Errorf("mapping %v", p)
	}
	described := false
	for _, s := range rights(t, tm, "hotkeys") {
		if s.action == "dynamodb:DescribeTable" && s.resource == "arn:aws:dynamodb:eu-central-1:123456789012:table/orders" {
			described = true
			continue
		}
		if strings.HasPrefix(s.action, "dynamodb:") && s.resource != "${"+heat+".Arn}" && !strings.HasPrefix(s.resource, "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/") {
			t.Errorf("hotkeys may %v", s)
		}
	}
	if !described {
		t.Error("hotkeys must be allowed to describe the table")
	}
	note := tm.Outputs["SourceTable"]
	if text(note.Value) != "orders" || !strings.Contains(string(tm.text), "two readers") {
		t.Errorf("outputs %v, want the table and the note on its readers", tm.Outputs)
	}
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
			for _, absent := range []string{"/v1/", "peakWrites", "write shards by now", "shard count grew"} {
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
