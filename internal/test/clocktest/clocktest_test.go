package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestAhead checks that a past moment moves to a later year that has its day.
func TestAhead(t *testing.T) {
	for _, c := range []struct{ at, now, want string }{
		{"2027-01-01T00:00:30Z", "2026-05-05T05:00:00Z", "2027-01-01T00:00:30Z"},
		{"2027-01-01T00:00:30Z", "2026-12-31T05:00:00Z", "2028-01-01T00:00:30Z"},
		{"2027-01-01T00:00:30Z", "2031-01-01T00:00:00Z", "2032-01-01T00:00:30Z"},
		{"2028-02-29T23:58:00Z", "2029-01-01T00:00:00Z", "2032-02-29T23:58:00Z"},
		{"2028-02-29T23:58:00+02:00", "2026-01-01T00:00:00Z", "2028-02-29T21:58:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		got, err := parseMoments([]string{c.at}, now)
		if err != nil || got[0].Format(time.RFC3339) != c.want {
			t.Errorf("%s, asked for at %s: %v, %v; want %s", c.at, c.now, got, err, c.want)
		}
	}
	for _, bad := range [][]string{nil, {"tomorrow"}, {"2027-01-01T00:00:30Z", "2027-02-30T00:00:00Z"}} {
		if got, err := parseMoments(bad, time.Time{}); err == nil {
			t.Errorf("%q is parsed as %v, want an error", bad, got)
		}
	}
}

// TestShift checks that shift changes this Go's package time, and rejects any other source.
func TestShift(t *testing.T) {
	folder, err := timeFolder(t.Context())
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	require.NoError(t, err)
	got, err := shift(source)
	if err != nil || strings.Count(string(got), "secondsAhead") != 2 || len(got) <= len(source) {
		t.Errorf("shifted %d bytes to %d, %v; want secondsAhead twice", len(source), len(got), err)
	}
	for _, unknown := range []string{"", "package time", strings.ReplaceAll(string(source), "runtimeNow()", "otherNow()"), string(source) + reading} {
		if _, err := shift([]byte(unknown)); err == nil {
			t.Errorf("%d bytes were accepted as package time", len(unknown))
		}
	}
}

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
