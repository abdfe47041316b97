package infra

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/hotkeys"
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
		case namespace == hotkeys.Namespace:
			own++
			if !strings.Contains(sent, `"`+name+`"`) {
				t.Errorf("no code sends %s", name)
			}
		case strings.HasPrefix(namespace, hotkeys.Namespace):
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

// notifies returns the names of the topics that an alarm notifies.
func notifies(tm *template, a object) (names []string) {
	for _, action := range a.list("AlarmActions") {
		names = append(names, tm.at(text(action)).text("TopicName"))
	}
	return names
}

// causesRow matches a row of causes in docs/first-sixty-days.md.
var causesRow = regexp.MustCompile("(?m)^\\| (`[a-z]+`|by themselves) \\| (page|tell) \\| [^|]+ \\| ([^|]+) \\|$")

// TestCausesAreDocumented checks that the page has each alarm in the row of its composite alarm, with its topic.
func TestCausesAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../docs/first-sixty-days.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{} // patterns by cause and topic
	for _, row := range causesRow.FindAllStringSubmatch(string(content), -1) {
		for _, pattern := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1) {
			of := strings.Trim(row[1], "`") + " " + row[2]
			rows[of] = append(rows[of], pattern[1])
		}
	}
	tm, notifying := deployed(t), 0
	check := func(name, cause string, of object) {
		t.Helper()
		notifying++
		row := cause + strings.TrimPrefix(strings.Join(notifies(tm, of), ""), "hotshard-")
		if !slices.ContainsFunc(rows[row], func(pattern string) bool {
			ok, _ := path.Match(pattern, strings.TrimPrefix(name, "hotshard-"))
			return ok
		}) {
			t.Errorf("docs/first-sixty-days.md lacks %s in the row %s: %q", name, row, rows[row])
		}
	}
	for name, a := range alarms(t, tm) {
		if notifies(tm, a) != nil {
			check(name, "by themselves ", a)
		}
	}
	composite := tm.of(t, "AWS::CloudWatch::CompositeAlarm")
	for _, r := range composite {
		for _, id := range alarmIDs.FindAllStringSubmatch(r.Properties.text("AlarmRule"), -1) {
			check(tm.at(id[1]).text("AlarmName"), strings.TrimPrefix(r.Properties.text("AlarmName"), "hotshard-")+" ", r.Properties)
		}
	}
	if all := len(alarms(t, tm)); notifying != all {
		t.Errorf("%d alarms notify, want each of %d once", notifying, all)
	}
	if len(rows) != len(composite)+1 {
		t.Errorf("%d rows, want one of each composite alarm and one more", len(rows))
	}
}

// alarmIDs matches the ids of the alarms in a composite alarm's rule.
var alarmIDs = regexp.MustCompile(`ALARM\("\$\{(\w+)\.Arn\}"\)`)
