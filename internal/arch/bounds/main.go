// Command bounds prints how large the house is: lines of source and of tests, the packages that
// are larger than one would like, and the types with many methods.
//
//	go run ./internal/arch/bounds
//
// They are a compass and no fence: a file or a type may grow where that puts one thought in one
// place. Lines are plain lines of tracked and new .go files, comments and blanks among them.
//
// Product source is all that is handed to users, and whatever that imports, directly or not.
// The packages that only tests, bench and tools for work on the repository import are test
// support: no line of theirs is in a program that is shipped. The imports say which they are.
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
	"strconv"
	"strings"
)

const module = "github.com/hotshard/hotshard/"

// handedOut are the folders of what users get: the command line, the functions, the CDK app,
// the examples, the library with each of its packages, and what `make invoke` runs.
var handedOut = []string{"cmd", "examples", "functions", "infra", "internal/runtimeapi/invoke", "pkg"}

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

// size is how large a package's source is, and which folders of the repository it imports.
type size struct {
	files, lines int
	imports      []string
}

// house is what was counted. What is measured with (bench, a module of its own) is counted
// apart, and is no part of the product.
type house struct {
	tests, bench int              // lines
	packages     map[string]*size // by folder, without tests and bench
	methods      map[string]int   // by folder and type
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
	folder := path.Dir(name)
	if h.packages[folder] == nil {
		h.packages[folder] = &size{}
	}
	p := h.packages[folder]
	p.files++
	p.lines += lines
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
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

// product returns the folders of what is handed out and of all that it imports, files for
// any system among it.
func (h *house) product() map[string]bool {
	reached := map[string]bool{}
	var reach func(folder string)
	reach = func(folder string) {
		if p := h.packages[folder]; p != nil && !reached[folder] {
			reached[folder] = true
			for _, imported := range p.imports {
				reach(imported)
			}
		}
	}
	for folder := range h.packages {
		if slices.ContainsFunc(handedOut, func(root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") }) {
			reach(folder)
		}
	}
	return reached
}

// print writes the figures, the largest first.
func (h *house) print(out io.Writer) error {
	var b bytes.Buffer
	largest := slices.SortedFunc(maps.Keys(h.packages), func(x, y string) int {
		return cmp.Or(h.packages[y].lines-h.packages[x].lines, strings.Compare(x, y))
	})
	product := h.product()
	source, support := 0, 0
	for _, folder := range largest {
		if product[folder] {
			source += h.packages[folder].lines
		} else {
			support += h.packages[folder].lines
		}
	}
	fmt.Fprintf(&b, "%6d lines of product source\n%6d lines of test support\n%6d lines of tests\n%6d lines of bench, its tests among them\n", source, support, h.tests, h.bench)
	fmt.Fprintf(&b, "\ntest support, which nothing that is handed out imports:\n")
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
