package infra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// assembly is the manifest that the CDK's command line gets beside the template.
func assembly(t *testing.T, context map[string]any) (properties object, everything string) {
	t.Helper()
	app, out := newApp(t, context)
	app.Synth(nil)
	files, err := filepath.Glob(filepath.Join(out, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		everything += string(content)
		if filepath.Base(file) == "manifest.json" {
			var manifest object
			if err := json.Unmarshal(content, &manifest); err != nil {
				t.Fatal(err)
			}
			properties = manifest.object("artifacts").object("hotshard").object("properties")
		}
	}
	return properties, everything
}

// TestTheStackItself checks the stack's tags, its termination protection, and the warning that nobody gets the alarms.
func TestTheStackItself(t *testing.T) {
	const nobody = "alarms' topic has no subscription"
	properties, everything := assembly(t, nil)
	if properties["terminationProtection"] != true || properties["tags"] != nil || !strings.Contains(everything, nobody) {
		t.Errorf("by default: %v; a warning: %t", properties, strings.Contains(everything, nobody))
	}
	properties, everything = assembly(t, map[string]any{"tags": "team=data,cost center=42 a/b", "terminationProtection": "false", "email": "ops@example.com"})
	tags := properties.object("tags")
	if properties["terminationProtection"] == true || len(tags) != 2 || tags["team"] != "data" || tags["cost center"] != "42 a/b" || strings.Contains(everything, nobody) {
		t.Errorf("as told: %v; a warning: %t", properties, strings.Contains(everything, nobody))
	}
}
