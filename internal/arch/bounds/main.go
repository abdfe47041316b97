// Command bounds prints how large the house is: lines of source and of tests, the packages that
// are larger than one would like, and the types with many methods.
//
//	go run ./internal/arch/bounds
//
// They are a compass and no fence: a file or a type may grow where that puts one thought in one
// place. Lines are plain lines of tracked and new .go files, comments and blanks among them.
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
	"slices"
	"strings"
)

const (
	maxLines   = 2500 // of a package's source
	maxFiles   = 20   // of a package's source
	maxMethods = 15   // of a type
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
	list, err := git(dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go")
	if err != nil {
		return err
	}
	h := house{packages: map[string]*size{}, methods: map[string]int{}}
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
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

// size is how large a package's source is.
type size struct{ files, lines int }

// house is what was counted. What is measured with (bench, a module of its own) is counted
// apart, and is no part of the product.
type house struct {
	source, tests, bench int              // lines
	packages             map[string]*size // by folder, without tests and bench
	methods              map[string]int   // by folder and type
}

// add counts a file.
func (h *house) add(name string, text []byte) error {
	lines := bytes.Count(text, []byte("\n"))
	if strings.HasPrefix(name, "bench/") {
		h.bench += lines
		return nil
	}
	if strings.HasSuffix(name, "_test.go") {
		h.tests += lines
		return nil
	}
	h.source += lines
	folder := path.Dir(name)
	if h.packages[folder] == nil {
		h.packages[folder] = &size{}
	}
	h.packages[folder].files++
	h.packages[folder].lines += lines
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil {
			h.methods[folder+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// print writes the figures, the largest first.
func (h *house) print(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%6d lines of product source\n%6d lines of tests\n%6d lines of bench, its tests among them\n", h.source, h.tests, h.bench)
	fmt.Fprintf(&b, "\npackages of more than %d lines or %d files:\n", maxLines, maxFiles)
	for _, folder := range slices.SortedFunc(maps.Keys(h.packages), func(x, y string) int {
		return cmp.Or(h.packages[y].lines-h.packages[x].lines, strings.Compare(x, y))
	}) {
		if s := h.packages[folder]; s.lines > maxLines || s.files > maxFiles {
			fmt.Fprintf(&b, "%6d lines, %3d files  %s\n", s.lines, s.files, folder)
		}
	}
	fmt.Fprintf(&b, "\ntypes with more than %d methods:\n", maxMethods)
	for _, name := range slices.SortedFunc(maps.Keys(h.methods), func(x, y string) int {
		return cmp.Or(h.methods[y]-h.methods[x], strings.Compare(x, y))
	}) {
		if h.methods[name] > maxMethods {
			fmt.Fprintf(&b, "%6d  %s\n", h.methods[name], name)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
