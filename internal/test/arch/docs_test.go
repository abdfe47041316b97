package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

var (
	testCited    = regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]+\b`)
	testDeclared = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]+)\(`)
)

// TestCitedTestsAreThere checks that each test named in docs exists.
func TestCitedTestsAreThere(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	declared := map[string]bool{}
	read(t, root, "_test.go", func(_, text string) {
		for _, match := range testDeclared.FindAllStringSubmatch(text, -1) {
			declared[match[1]] = true
		}
	})
	cited := 0
	read(t, filepath.Join(root, "docs"), ".md", func(path, text string) {
		for _, name := range testCited.FindAllString(text, -1) {
			cited++
			if !declared[name] {
				t.Errorf("%s names %s, which no file declares", path, name)
			}
		}
	})
	if len(declared) < 500 || cited < 20 {
		t.Errorf("%d tests and %d names were found: too few to be all", len(declared), cited)
	}
}

// read calls a function with each file below dir that has this ending.
func read(t *testing.T, dir, end string, to func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, end):
			return nil
		}
		text, err := os.ReadFile(path)
		to(path, string(text))
		return err
	})
	require.NoError(t, err)
}
