package infra

import (
	"strings"
	"testing"
)

const sourceStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-05T12:00:00.000"

var attached = map[string]any{"prefix": "hotshard-", "sourceTable": "orders", "sourceStreamArn": sourceStream}

// TestAttached: over a table that is already there only the detector is deployed,
// with its metrics, alarms and dashboard, and it changes nothing of that table.
func TestAttached(t *testing.T) {
	tm := with(t, attached)
	if tables, functions := tm.of(t, "AWS::DynamoDB::GlobalTable"), tm.of(t, "AWS::Lambda::Function"); len(tables) != 1 || len(functions) != 1 {
		t.Errorf("%d tables, %d functions", len(tables), len(functions))
	}
	rollups := table(t, tm, "rollups")
	for _, kind := range []string{"AWS::ApiGatewayV2::Api", "AWS::Scheduler::Schedule", "AWS::Logs::MetricFilter"} {
		if strings.Contains(string(tm.text), `"`+kind+`"`) {
			t.Errorf("there is an %s", kind)
		}
	}
	_, function := tm.named(t, "AWS::Lambda::Function", "FunctionName", "hotshard-hotkeys")
	variables := function.Properties.object("Environment").object("Variables")
	if variables["HOTSHARD_SOURCE"] != "existing" || variables["HOTSHARD_SOURCE_TABLE"] != "orders" || variables.text("HOTSHARD_ROLLUPS_TABLE") != "hotshard-rollups" {
		t.Errorf("environment %v", variables)
	}
	if p := mapping(t, tm, "hotkeys"); p.text("EventSourceArn") != sourceStream || p.number("TumblingWindowInSeconds") != 10 {
		t.Errorf("mapping %v", p)
	}
	described := false
	for _, s := range statements(t, tm.Resources["HotkeysRole"+suffix(t, tm, "HotkeysRole")]) {
		if s.action == "dynamodb:DescribeTable" && s.resource == "arn:aws:dynamodb:eu-central-1:123456789012:table/orders" {
			described = true
			continue
		}
		if strings.HasPrefix(s.action, "dynamodb:") && s.resource != "${"+rollups+".Arn}" && !strings.HasPrefix(s.resource, "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/") {
			t.Errorf("hotkeys may %v", s)
		}
	}
	if !described {
		t.Error("hotkeys may not describe the table")
	}
	note := tm.Outputs["SourceTable"]
	if text(note.Value) != "orders" || !strings.Contains(string(tm.text), "two readers") {
		t.Errorf("outputs %v", tm.Outputs)
	}
}

func TestAttachedAlarms(t *testing.T) {
	got := alarms(t, with(t, attached))
	for _, name := range []string{"hot-keys", "saturated-keys", "source-hot-partition", "source-limit", "rollups-hot-partition", "rollups-limit", "hotkeys-behind", "hotkeys-gave-up", "hotkeys-errors", "hotkeys-throttles", "detector-state", "detector-errors"} {
		if got["hotshard-"+name] == nil {
			t.Errorf("there is no alarm %s", name)
		}
	}
	if len(got) != 12 {
		t.Errorf("alarms %q", sorted(got))
	}
	if query := text(got["hotshard-hot-keys"]["Metrics"]); !strings.Contains(query, "TableName = 'orders'") {
		t.Errorf("hot keys of %s", query)
	}
}
