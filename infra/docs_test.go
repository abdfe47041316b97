package infra

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/infra/config"
)

// TestSettingsAreDocumented: docs/deploy.md has each setting with its default, and no
// other.
func TestSettingsAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, k := range config.Keys() {
		known[k.Name] = true
		row := fmt.Sprintf("\n| `%s` | `%s` | ", k.Name, k.Default)
		if k.Default == "" {
			row = fmt.Sprintf("\n| `%s` | | ", k.Name)
		}
		if !strings.Contains(string(content), row) {
			t.Errorf("docs/deploy.md has no row %q", row)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(content), -1) {
		if !known[row[1]] {
			t.Errorf("docs/deploy.md has the setting %s, which there is not", row[1])
		}
	}
}
