package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

const (
	root   = "../../.."
	module = "github.com/hotshard/hotshard"
)

// rule forbids packages to import other packages.
type rule struct {
	name  string
	of    []string // the packages of the rule
	but   []string // exceptions from of
	deny  []string // forbidden imports; a package may import itself
	allow []string // exceptions from deny
	deep  bool     // check indirect imports, too
}

// source is a package as `go list -json` describes it.
type source struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string // imports without those of tests
	Deps       []string // direct and indirect imports

	GoFiles, TestImports, XTestImports []string
}

// check returns the imports that break the rule. packages has this module's, standard the standard library's.
func (r *rule) check(packages []source, standard map[string]bool) []string {
	var faults []string
	for _, p := range packages {
		if !matchAny(r.of, p.ImportPath, standard) || matchAny(r.but, p.ImportPath, standard) {
			continue
		}
		imports := p.Imports
		if r.deep {
			imports = p.Deps
		}
		for _, to := range imports {
			if to != p.ImportPath && matchAny(r.deny, to, standard) && !matchAny(r.allow, to, standard) {
				faults = append(faults, fmt.Sprintf("%s imports %s", p.ImportPath, to))
			}
		}
	}
	return faults
}

func matchAny(patterns []string, importPath string, standard map[string]bool) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, importPath, standard) })
}

func match(pattern, importPath string, standard map[string]bool) bool {
	if pattern == "std" {
		return standard[importPath]
	}
	own, inModule := strings.CutPrefix(importPath, module+"/")
	if inModule {
		importPath = own
	}
	prefix, below := strings.CutSuffix(pattern, "...")
	if !below {
		return importPath == pattern
	}
	return prefix == "" || importPath == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(importPath, prefix)
}

// goList returns the output of go list in the module's folder.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	dependOnSources(t)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &stderr)
	}
	return out
}

// list returns this module's packages and the standard library's import paths.
func list(t *testing.T) (own []source, standard map[string]bool) {
	t.Helper()
	out := goList(t, "-deps", "-json=ImportPath,Name,Standard,Imports,Deps,GoFiles,TestImports,XTestImports", "./...")
	standard = map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p source
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return own, standard
		}
		require.NoError(t, err)
		if p.Standard {
			standard[p.ImportPath] = true
		}
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
			own = append(own, p)
		}
	}
}

// dependOnSources opens the folders of sources, because `go test` caches a result by the folders that the test opens, and
// not by those that go list opens.
func dependOnSources(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"cmd", "functions", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	_, err := os.Stat(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
}

// TestImports checks that no package breaks a rule of imports or has a meaningless name, and that the packages of each
// rule exist.
func TestImports(t *testing.T) {
	packages, standard := list(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, pattern := range slices.Concat(r.of, r.but) {
				if !slices.ContainsFunc(packages, func(p source) bool { return match(pattern, p.ImportPath, standard) }) {
					t.Errorf("there is no %s", pattern)
				}
			}
			for _, fault := range r.check(packages, standard) {
				t.Error(fault)
			}
		})
	}
	for _, p := range packages {
		if slices.Contains(badNames, p.Name) || slices.Contains(badNames, path.Base(p.ImportPath)) {
			t.Errorf("%s has a meaningless name", p.ImportPath)
		}
	}
}
