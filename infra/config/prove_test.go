package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/prove"
)

// TestProveDeploymentCanBeRemoved checks that hotshard prove can remove its deployment: nothing is retained or protected.
func TestProveDeploymentCanBeRemoved(t *testing.T) {
	settings, err := prove.DeploySettings("hotshard-prove-abcdefgh-", []string{"hotkeysConcurrency=0"})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Name] = true
	}
	context := map[string]any{}
	for _, setting := range settings {
		if key, value, _ := strings.Cut(setting, "="); known[key] {
			context[key] = value
		}
	}
	c, err := Parse(context)
	if err != nil {
		t.Fatal(err)
	}
	if c.Removal != "destroy" || c.PITR || c.Prefix != "hotshard-prove-abcdefgh-" || c.HotkeysConcurrency != 0 {
		t.Errorf("settings %+v, want removal=destroy, no recovery and the run's prefix", c.Stack)
	}
	protections := 0
	for field, value := range reflect.ValueOf(c.Stack).Fields() {
		if !strings.HasSuffix(field.Name, "Protection") {
			continue
		}
		protections++
		if value.Bool() {
			t.Errorf("%s is on", field.Name)
		}
	}
	if protections == 0 {
		t.Error("no setting's name ends with Protection: this test must look for other names")
	}
}
