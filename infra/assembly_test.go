package infra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// assembly returns the stack's properties in the manifest for the CDK's command line, and the text of all its files.
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

// TestStackProperties checks the stack's tags and the warning that no one receives the alarms. Termination protection
// would prevent the CDK from deleting a stack whose creation failed.
func TestStackProperties(t *testing.T) {
	const warning = "alarms' topics have no subscription"
	properties, everything := assembly(t, nil)
	if properties["terminationProtection"] == true || properties["tags"] != nil || !strings.Contains(everything, warning) {
		t.Errorf("by default: %v, warning: %t; want no protection, no tags and the warning", properties, strings.Contains(everything, warning))
	}
	properties, everything = assembly(t, map[string]any{"tags": "team=data,cost center=42 a/b", "email": "ops@example.com"})
	tags := properties.object("tags")
	if len(tags) != 2 || tags["team"] != "data" || tags["cost center"] != "42 a/b" || strings.Contains(everything, warning) {
		t.Errorf("with settings: %v, warning: %t; want two tags and no warning", properties, strings.Contains(everything, warning))
	}
}
