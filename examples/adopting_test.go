package examples_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestAdoptingChangesTenLines compares the program before and after its table was adopted, without comments, imports and names.
func TestAdoptingChangesTenLines(t *testing.T) {
	left, after := code(t, "adopt/before.go"), code(t, "adopt/after.go")
	changed := slices.DeleteFunc(slices.Clone(after), func(line string) bool {
		i := slices.Index(left, line)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	})
	if len(changed) != 10 || len(after) < 24 {
		t.Errorf("%d of %d lines are new or changed, want 10 of 24 or more:\n%s", len(changed), len(after), strings.Join(changed, "\n"))
	}
}

// code returns the lines of a file without comments, imports and empty lines. Both have the names of the sharded program.
func code(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, body, imports := strings.Cut(string(text), "\n)\n")
	if !imports {
		t.Fatalf("%s has no imports", file)
	}
	body = strings.NewReplacer("plain", "sharded", "Plain", "Sharded").Replace(body)
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines = append(lines, line)
		}
	}
	return lines
}
