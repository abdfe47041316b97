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
	before, after := code(t, "adopt/before.go"), code(t, "adopt/after.go")
	kept := common(before, after)
	if changed := len(after) - kept; changed != 10 || kept < 14 {
		t.Errorf("%d lines are new or changed and %d are unchanged, want 10 and 14 or more", changed, kept)
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

// common returns the length of the longest common subsequence.
func common(a, b []string) int {
	longest := make([]int, len(b)+1)
	for _, line := range a {
		row := slices.Clone(longest)
		for i := range b {
			row[i+1] = max(row[i], longest[i+1])
			if line == b[i] {
				row[i+1] = longest[i] + 1
			}
		}
		longest = row
	}
	return longest[len(b)]
}
