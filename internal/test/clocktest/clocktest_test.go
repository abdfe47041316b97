package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestSuitesAreThere checks that each suite has its tests and a unique name.
func TestSuitesAreThere(t *testing.T) {
	var names []string
	for _, s := range suites {
		names = append(names, filepath.Base(s.folder))
		files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(s.folder), "*_test.go"))
		require.NoError(t, err)
		var tests []string
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`).FindAllSubmatch(text, -1) {
				tests = append(tests, string(found[1]))
			}
		}
		for _, one := range strings.Split(strings.Trim(s.run, "^()$"), "|") {
			if !slices.ContainsFunc(tests, regexp.MustCompile("^"+one+"$").MatchString) && s.run != "" {
				t.Errorf("%s has no test %s", s.folder, one)
			}
		}
	}
	if all := len(names); len(slices.Compact(slices.Sorted(slices.Values(names)))) != all {
		t.Errorf("two suites have the same name: %q", names)
	}
}
