package infra

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/infra/config"
)

// settingsRow matches a row of settings with one default.
var settingsRow = regexp.MustCompile("(?m)^\\| (`\\w+`(?:, `\\w+`)*) \\| (?:`([^|]*)` )?\\|")

// TestSettingsAreDocumented checks that docs/deploy.md has each setting once with its default, and no other.
func TestSettingsAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]string{}
	for _, row := range settingsRow.FindAllStringSubmatch(section, -1) {
		for key := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if _, twice := documented[key]; twice {
				t.Errorf("docs/deploy.md has the setting %s twice", key)
			}
			documented[key] = row[2]
		}
	}
	for _, k := range config.Keys() {
		if got, ok := documented[k.Name]; !ok || got != k.Default {
			t.Errorf("docs/deploy.md has the setting %s: %t, with the default %q; want %q", k.Name, ok, got, k.Default)
		}
		delete(documented, k.Name)
	}
	for key := range documented {
		t.Errorf("docs/deploy.md has the setting %s, which does not exist", key)
	}
}
