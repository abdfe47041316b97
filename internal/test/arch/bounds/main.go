// Command bounds prints the size of this repository: lines of source and of tests, packages, settings, words of docs,
// lengths of functions, and large packages.
//
//	go run ./internal/test/arch/bounds
//
// The bounds are a guide: a file may grow if that keeps one subject in one place.
// Lines are all lines of tracked and new .go files, comments and blank lines included.
//
// Source is divided by its direct and indirect importers:
//
//   - deployed or imported: by a function, or by a package under pkg;
//   - other product source: by the command line, the CDK app, the examples or make invoke alone;
//   - test support: by tests, bench and tools for work on the repository alone.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/hotshard/hotshard/"

// userFacing are the folders that users get: the command line, the functions, the CDK app, the
// examples, the library's packages, and the command of `make invoke`.
var userFacing = []string{"cmd", "examples", "functions", "infra", "internal/aws/runtimeapi/invoke", "pkg"}

// deployed are the folders of the functions and of the library.
var deployed = []string{"functions", "pkg"}

// Bounds of a package's source.
const (
	maxLines = 2500
	maxFiles = 20
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bounds:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir := strings.TrimSpace(root)
	list, err := git(dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go", "docs/*.md")
	if err != nil {
		return err
	}
	h := newCounts()
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, but not committed
		}
		if err != nil {
			return err
		}
		if err := h.add(name, text); err != nil {
			return err
		}
	}
	return h.print(out)
}

func git(dir string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// size is a package's source and its imports from this module.
type size struct {
	files, lines int
	imports      []string
}

// counts are the figures of the repository. Bench, a module of its own, is counted apart.
type counts struct {
	tests, bench int              // lines
	words        int              // of docs
	folders      map[string]bool  // of packages, without bench
	settings     map[string]bool  // names of environment variables that the source parses
	packages     map[string]*size // by folder, without tests and bench
	functions    []int            // lines of each function, without tests and bench
	comments     int              // lines, without tests and bench
}

func newCounts() counts {
	return counts{folders: map[string]bool{}, settings: map[string]bool{}, packages: map[string]*size{}}
}

// setting finds the name of an environment variable in a struct tag.
var setting = regexp.MustCompile(`\benv:"(\w+)`)

// add counts a file of Go or of docs.
func (h *counts) add(name string, text []byte) error {
	if strings.HasSuffix(name, ".md") {
		h.words += len(bytes.Fields(text))
		return nil
	}
	for _, found := range setting.FindAllSubmatch(text, -1) {
		h.settings[string(found[1])] = true
	}
	lines := bytes.Count(text, []byte("\n"))
	if strings.HasPrefix(name, "bench/") {
		h.bench += lines
		return nil
	}
	h.folders[path.Dir(name)] = true
	if strings.HasSuffix(name, "_test.go") {
		h.tests += lines
		return nil
	}
	folder := path.Dir(name)
	if h.packages[folder] == nil {
		h.packages[folder] = &size{}
	}
	p := h.packages[folder]
	p.files++
	p.lines += lines
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	linesOf := func(n ast.Node) int { return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1 }
	for _, group := range file.Comments {
		h.comments += linesOf(group)
	}
	for _, spec := range file.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: an import: %w", name, err)
		}
		if own, ok := strings.CutPrefix(full, module); ok {
			p.imports = append(p.imports, own)
		}
	}
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok {
			h.functions = append(h.functions, linesOf(f))
		}
	}
	return nil
}

// reach returns the packages in and below the given folders, and their direct and indirect
// imports.
func (h *counts) reach(roots []string) map[string]bool {
	reached := map[string]bool{}
	var visit func(folder string)
	visit = func(folder string) {
		if p := h.packages[folder]; p != nil && !reached[folder] {
			reached[folder] = true
			for _, imported := range p.imports {
				visit(imported)
			}
		}
	}
	for folder := range h.packages {
		if slices.ContainsFunc(roots, func(root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") }) {
			visit(folder)
		}
	}
	return reached
}

// print writes the figures, the largest first.
func (h *counts) print(out io.Writer) error {
	var b bytes.Buffer
	largest := slices.SortedFunc(maps.Keys(h.packages), func(x, y string) int {
		return cmp.Or(h.packages[y].lines-h.packages[x].lines, strings.Compare(x, y))
	})
	product, shipped := h.reach(userFacing), h.reach(deployed)
	core, source, support := 0, 0, 0
	for folder, p := range h.packages {
		switch {
		case shipped[folder]:
			core += p.lines
		case product[folder]:
			source += p.lines
		default:
			support += p.lines
		}
	}
	fmt.Fprintf(&b, "%6d lines of source that is deployed or imported\n%6d lines of other product source\n", core, source)
	fmt.Fprintf(&b, "%6d lines of test support\n%6d lines of tests\n%6d lines of bench, its tests included\n", support, h.tests, h.bench)
	fmt.Fprintf(&b, "%6d packages without bench\n%6d settings\n%6d words of docs\n", len(h.folders), len(h.settings), h.words)
	if all := core + source + support; len(h.functions) > 0 {
		slices.Sort(h.functions)
		fmt.Fprintf(&b, "\n%6d functions: %d lines at the median, %d at the 90th percentile; comments are %.1f %% of the lines of source\n",
			len(h.functions), h.functions[len(h.functions)/2], h.functions[len(h.functions)*9/10], 100*float64(h.comments)/float64(all))
	}
	fmt.Fprintf(&b, "\ntest support:\n")
	for _, folder := range largest {
		if !product[folder] {
			fmt.Fprintf(&b, "%6d lines, %3d files  %s\n", h.packages[folder].lines, h.packages[folder].files, folder)
		}
	}
	fmt.Fprintf(&b, "\npackages of more than %d lines or %d files:\n", maxLines, maxFiles)
	for _, folder := range largest {
		if s := h.packages[folder]; s.lines > maxLines || s.files > maxFiles {
			fmt.Fprintf(&b, "%6d lines, %3d files  %s\n", s.lines, s.files, folder)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
