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

var (
	linked  = regexp.MustCompile(`(?m)\]\(([^()\s]+)\)|^\[[^\]\n]+\]: (\S+)$`)
	labels  = regexp.MustCompile(`\]\[([^\]]+)\]`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere checks that the targets of the docs' links exist, including headings.
func TestLinksLeadSomewhere(t *testing.T) {
	links, named := 0, 0
	for path, text := range pages(t) {
		text = fenced.ReplaceAllString(text, "")
		for _, match := range labels.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(text, "\n["+match[1]+"]: ") {
				t.Errorf("%s links by the label %q, which it does not define", path, match[1])
			}
		}
		for _, match := range linked.FindAllStringSubmatch(text, -1) {
			link := match[1] + match[2]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			links++
			file, part, _ := strings.Cut(link, "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, link)
				continue
			}
			if part == "" || filepath.Ext(target) != ".md" {
				continue
			}
			named++
			if !slugs(t, target)[part] {
				t.Errorf("%s links to %s, which has no such heading", path, link)
			}
		}
	}
	if links < 100 || named < 10 {
		t.Errorf("%d links were found, %d with a heading: too few to be all", links, named)
	}
}

// pages returns the Markdown files of docs and of the repository's root, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	found := map[string]string{}
	read(t, filepath.Join(root, "docs"), ".md", func(path, text string) { found[path] = text })
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	for _, path := range top {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		found[path] = string(text)
	}
	return found
}

// slugs returns GitHub's anchors of a page's headings: lower case, without punctuation, with
// hyphens for spaces.
func slugs(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		plain := notSlug.ReplaceAllString(strings.ToLower(match[1]), "")
		found[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return found
}
