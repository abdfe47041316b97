package infra

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/metrics"
	"github.com/hotshard/hotshard/internal/tool/bill"
)

// alarms returns the alarms of a template, by name.
func alarms(t *testing.T, tm *template) map[string]object {
	t.Helper()
	list := map[string]object{}
	for _, r := range tm.of(t, "AWS::CloudWatch::Alarm") {
		list[r.Properties.text("AlarmName")] = r.Properties
	}
	return list
}

// figures returns the metrics in a part of a template.
func figures(value any) (list []object) {
	switch v := value.(type) {
	case map[string]any:
		if v["MetricName"] != nil {
			list = append(list, v)
		}
		for _, name := range sorted(v) {
			list = append(list, figures(v[name])...)
		}
	case []any:
		for _, one := range v {
			list = append(list, figures(one)...)
		}
	}
	return list
}

// TestStreamShardsAgainstConcurrency checks that the alarm fires at 80 % of each reader's reservation.
func TestStreamShardsAgainstConcurrency(t *testing.T) {
	a := alarms(t, with(t, map[string]any{"accountConcurrency": 2000.0}))["hotshard-stream-shards"]
	list := figures(map[string]any(a))
	if len(list) != 2 || list[0].text("MetricName") != "StreamShards" || list[1].text("MetricName") != "StreamShards" || a.number("Threshold") != 272 {
		t.Errorf("alarm %v, want both tables' StreamShards at 272 of 340", a)
	}
}

// TestBillCountsAlarms checks that hotshard plan charges for each metric that an alarm watches.
func TestBillCountsAlarms(t *testing.T) {
	watched := 0
	for name, a := range alarms(t, deployed(t)) {
		n := len(figures(anyOf(a)))
		if name == "hotshard-hot-keys" {
			n = 0 // the bill has a line for hot keys' metrics
		}
		watched += n
	}
	want := fmt.Sprintf("on %d metrics", watched)
	if line := bill.Estimate(bill.Load{}, 1, bill.Default()).Lines[0]; line.Item != "alarms" || line.Basis != want {
		t.Errorf("the bill's first line is %s %s, want alarms %s", line.Item, line.Basis, want)
	}
}

// TestHotKeysAreNamed checks that each hot key is a contributor of one alarm.
func TestHotKeysAreNamed(t *testing.T) {
	named := alarms(t, with(t, map[string]any{"threshold": "0.5", "partitionWcu": "200", "prefix": "other-"}))
	for name, table := range map[string]string{"other-hot-keys": "other-items", "other-events-hot-keys": "other-events"} {
		a := named[name]
		query := a.objects("Metrics")[0]
		want := `SELECT MAX(KeyWriteUnitsPerSecond) FROM SCHEMA(Hotshard, "Key", TableName) WHERE TableName = '` + table + `' GROUP BY "Key" ORDER BY MAX() DESC`
		if query.text("Expression") != want || query.number("Period") != 60 || a.number("Threshold") != 100 {
			t.Errorf("%s: %v, want %s at 100", name, a, want)
		}
	}
	unnamed := alarms(t, with(t, map[string]any{"metricNames": "off"}))
	a := unnamed["hotshard-hot-keys"]
	if list := figures(map[string]any(a)); len(list) != 2 || list[0].text("MetricName") != "HotKeys" || list[0].text("Namespace") != metrics.Namespace ||
		a.number("Threshold") != 1 || a["OKActions"] == nil || unnamed["hotshard-events-hot-keys"] != nil {
		t.Errorf("without metrics by key: %v", a)
	}
}

// TestOwnMetricsAreSent checks that the code sends each metric of hotshard in an alarm, or logs it for a metric filter.
func TestOwnMetricsAreSent(t *testing.T) {
	tm := deployed(t)
	sent := sources(t, "internal/hotkeys")
	filters := map[string]bool{}
	for _, r := range tm.of(t, "AWS::Logs::MetricFilter") {
		p := r.Properties
		transformation := p.objects("MetricTransformations")[0]
		filters[transformation.text("MetricNamespace")+" "+transformation.text("MetricName")] = true
		message := regexp.MustCompile(`^\{ \$\.msg = ("[^"]+") \}$`).FindStringSubmatch(p.text("FilterPattern"))
		if message == nil || !strings.Contains(sent+sources(t, "internal/ingest")+sources(t, "pkg/shard/grow")+sources(t, "internal/fold"), message[1]) {
			t.Errorf("no code logs %s", p.text("FilterPattern"))
		}
	}
	own := 0
	for _, f := range figures(map[string]any{"alarms": anyOf(alarms(t, tm))}) {
		name := f.text("MetricName")
		switch namespace := f.text("Namespace"); {
		case namespace == metrics.Namespace:
			own++
			if !strings.Contains(sent, `"`+name+`"`) {
				t.Errorf("no code sends %s", name)
			}
		case strings.HasPrefix(namespace, metrics.Namespace):
			own++
			if !filters[namespace+" "+name] {
				t.Errorf("no metric filter has %s", name)
			}
		case !strings.HasPrefix(namespace, "AWS/"):
			t.Errorf("the metric %s is in the namespace %s", name, namespace)
		}
	}
	if own < 12 || len(filters) != 9 {
		t.Errorf("%d metrics of hotshard and %d filters, want 12 or more and 9", own, len(filters))
	}
}

// anyOf returns a value as it is decoded from JSON.
func anyOf(v any) any {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		panic(err)
	}
	return value
}

// sources returns the code of a package, without its tests.
func sources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob("../" + folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %q, %v", folder, files, err)
	}
	var b strings.Builder
	for _, file := range files {
		if content, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(file, "_test.go") {
			b.Write(content)
		}
	}
	return b.String()
}

// TestRunbook checks that each alarm's description links to a section of the runbook, and each section is linked.
func TestRunbook(t *testing.T) {
	content, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections, linked []string
	for _, h := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(content), -1) {
		sections = append(sections, strings.ReplaceAll(strings.ToLower(h[1]), " ", "-"))
	}
	for _, tm := range []*template{deployed(t), with(t, attached)} {
		for name, a := range alarms(t, tm) {
			text, section, found := strings.Cut(a.text("AlarmDescription"), " Runbook: https://github.com/hotshard/hotshard/blob/main/docs/runbook.md#")
			if !found || !slices.Contains(sections, section) || len(a.text("AlarmDescription")) > 1024 || len(text) < 60 {
				t.Errorf("%s: description %q, want 60 to 1,024 characters with a link to a section", name, a.text("AlarmDescription"))
			}
			linked = append(linked, section)
			if !strings.Contains(string(content), "`"+regexp.MustCompile(`^hotshard-(items|events|rollups|shard-map|heat|source|ingest|query|hotkeys|aggregator)(-by-rank|-by-group)?-`).ReplaceAllString(name, "*-")) &&
				!strings.Contains(string(content), "`"+strings.TrimPrefix(name, "hotshard-")+"`") {
				t.Errorf("the runbook does not name %s", name)
			}
		}
	}
	for _, s := range sections {
		if !slices.Contains(linked, s) {
			t.Errorf("no alarm links to the runbook's section %s", s)
		}
	}
}

// TestTopic checks the alarms' topic: its subscription, its policy, and that it has no subscription by default.
func TestTopic(t *testing.T) {
	tm := with(t, map[string]any{"email": "ops@example.com"})
	id, _ := tm.named(t, "AWS::SNS::Topic", "TopicName", "hotshard-alarms")
	if _, s := tm.named(t, "AWS::SNS::Subscription", "Protocol", "email"); s.Properties.text("Endpoint") != "ops@example.com" || s.Properties.text("TopicArn") != "${"+id+"}" {
		t.Errorf("subscription %v, want ops@example.com", s)
	}
	for _, r := range tm.of(t, "AWS::SNS::TopicPolicy") {
		policy := text(map[string]any(r.Properties.object("PolicyDocument")))
		if !strings.Contains(policy, `"Service":"cloudwatch.amazonaws.com"`) || !strings.Contains(policy, "aws:SourceAccount") || !strings.Contains(policy, "aws:SecureTransport") {
			t.Errorf("policy %s, want CloudWatch, the account and TLS", policy)
		}
	}
	if strings.Contains(string(deployed(t).text), "AWS::SNS::Subscription") {
		t.Error("there is a subscription without the setting email")
	}
}

// TestDashboard checks that the first row shows hot keys and changes, and that each widget has data. The code must log
// the messages of its queries.
func TestDashboard(t *testing.T) {
	_, r := deployed(t).named(t, "AWS::CloudWatch::Dashboard", "DashboardName", "hotshard")
	var body struct {
		Widgets []struct {
			X, Y, Width float64
			Type        string
			Properties  struct {
				Title, Query string
				Metrics      []any
				Alarms       []any
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Properties.text("DashboardBody")), &body); err != nil {
		t.Fatal(err)
	}
	var first []string
	for _, w := range body.Widgets {
		if w.Y == 0 {
			first = append(first, w.Properties.Title)
		}
		if w.X+w.Width > 24 || len(w.Properties.Metrics)+len(w.Properties.Alarms)+len(w.Properties.Query) == 0 {
			t.Errorf("widget %+v is too wide or has no data", w)
		}
	}
	if len(first) != 3 || !strings.HasPrefix(first[0], "Is a key hot") || !strings.HasPrefix(first[1], "Hot keys") || !strings.HasPrefix(first[2], "Changes of shard counts") {
		t.Errorf("the first row has %q, want hot keys and changes", first)
	}
	for _, message := range []string{"hot key", "shard count changed", "grown", "shard count would change", "would grow"} {
		if !strings.Contains(sources(t, "internal/hotkeys")+sources(t, "pkg/shard/grow"), `"`+message+`"`) {
			t.Errorf("no code logs %q", message)
		}
	}
}
