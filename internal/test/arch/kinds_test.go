package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// kindHome is the package with the facts of all kinds.
const kindHome = "internal/base/schema"

// registries are the only files that may have a map with a function for each kind. Maps by schema.Summary may be anywhere.
var registries = []string{"cmd/hotshard/spread.go", "internal/rebuild/erase.go"}

// driven are files that drive the API with a kind of their choice and read it in the responses.
var driven = []string{"internal/tool/load/demomeasure.go"}

// kindUse is code that depends on a kind, or that enumerates values of the table.
type kindUse struct {
	line  int
	what  string   // comparison, switch or map
	of    string   // the type of the constants in it, or inText
	names []string // of these constants
}

// inText is used instead of a type if a text names a kind.
const inText = "text"

// kindTable returns the names of the constants of kinds by type, without zero values.
func kindTable(t *testing.T) map[string][]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, kindHome, "kind.go"), nil, 0)
	require.NoError(t, err)
	table := map[string][]string{}
	for _, d := range parsed.Decls {
		decl, is := d.(*ast.GenDecl)
		if !is || decl.Tok != token.CONST {
			continue
		}
		of := ""
		for _, spec := range decl.Specs {
			value := spec.(*ast.ValueSpec)
			if name, is := value.Type.(*ast.Ident); is {
				of = name.Name
			}
			if name := value.Names[0].Name; !strings.HasPrefix(name, "No") {
				table[of] = append(table[of], name)
			}
		}
	}
	return table
}

// kindUses returns where a file compares kinds, switches over them, or has maps by kind. For
// buckets and summaries it returns only switches and maps, because a comparison is how code
// asks for what it needs.
func kindUses(set *token.FileSet, file *ast.File, table map[string][]string) (found []kindUse) {
	constantOf := func(e ast.Expr) (of, name string) {
		if call, is := e.(*ast.CallExpr); is && len(call.Args) == 1 { // string(schema.Counter)
			e = call.Args[0]
		}
		if selector, is := e.(*ast.SelectorExpr); is && isName(selector.X, "schema") {
			for of, names := range table {
				if slices.Contains(names, selector.Sel.Name) {
					return of, selector.Sel.Name
				}
			}
		}
		if text, is := e.(*ast.BasicLit); is && text.Kind == token.STRING {
			name, _ := strconv.Unquote(text.Value)
			if slices.Contains(schema.Kinds(), schema.Kind(name)) {
				return inText, name
			}
		}
		return "", ""
	}
	enumerates := func(at token.Pos, what string, list []ast.Expr) {
		byType := map[string][]string{}
		for _, e := range list {
			if of, name := constantOf(e); of != "" && of != "Placement" {
				byType[of] = append(byType[of], name)
			}
		}
		for of, names := range byType {
			if of != inText || what == "switch" || len(names) > 2 { // requests have fields named board and limit
				found = append(found, kindUse{set.Position(at).Line, what, of, names})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			var cases []ast.Expr
			for _, c := range n.Body.List {
				cases = append(cases, c.(*ast.CaseClause).List...)
			}
			enumerates(n.Pos(), "switch", cases)
		case *ast.CompositeLit:
			var keys []ast.Expr
			for _, e := range n.Elts {
				if pair, is := e.(*ast.KeyValueExpr); is {
					keys = append(keys, pair.Key)
				}
			}
			enumerates(n.Pos(), "map", keys)
		case *ast.BinaryExpr:
			for _, side := range []ast.Expr{n.X, n.Y} {
				if of, name := constantOf(side); (of == "Kind" || of == inText) && (n.Op == token.EQL || n.Op == token.NEQ) {
					found = append(found, kindUse{set.Position(n.Pos()).Line, "comparison", of, []string{name}})
				}
			}
		}
		return true
	})
	return found
}

// kindFaults returns the faults in a file's uses of kinds.
func kindFaults(set *token.FileSet, path string, file *ast.File, table map[string][]string) (faults []string) {
	fault := func(line int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d %s", path, line, fmt.Sprintf(format, args...)))
	}
	for _, use := range kindUses(set, file, table) {
		if (use.of == "Kind" || use.of == inText) && !slices.Contains(registries, path) && !slices.Contains(driven, path) {
			fault(use.line, "has a %s by kind: make what differs a field of schema.Traits", use.what)
		}
		for _, name := range table[use.of] {
			if use.what == "map" && !slices.Contains(use.names, name) {
				fault(use.line, "has a map by schema.%s without schema.%s", use.of, name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, is := n.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return true
		}
		text, _ := strconv.Unquote(literal.Value)
		if k, _, ok := schema.CutKind(text); ok {
			fault(set.Position(n.Pos()).Line, "has the prefix of %s: take it from schema.TraitsOf", k)
		}
		enum := strings.Split(reflect.StructTag(text).Get("enum"), ",")
		named := 0
		for _, k := range schema.Kinds() {
			if slices.Contains(enum, string(k)) {
				named++
			}
		}
		if named > 0 && named < len(schema.Kinds()) {
			fault(set.Position(n.Pos()).Line, "has an enum without all kinds: %s", enum)
		}
		return true
	})
	return faults
}

// TestKindsHaveOneHome checks that only schema.Traits and the registries depend on the kind, and that no registry lacks one.
// Bench is exempt.
func TestKindsHaveOneHome(t *testing.T) {
	table := kindTable(t)
	if len(table["Kind"]) != len(schema.Kinds()) {
		t.Errorf("the table of kinds has %v, the constants are %v", schema.Kinds(), table["Kind"])
	}
	unused := map[string]bool{}
	for _, path := range slices.Concat(registries, driven) {
		unused[path] = true
	}
	files := sourceFiles(t)
	for _, path := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, 0)
		require.NoError(t, err)
		if len(kindUses(set, file, table)) > 0 {
			delete(unused, path)
		}
		for _, fault := range kindFaults(set, path, file, table) {
			t.Error(fault)
		}
	}
	for path := range unused {
		t.Errorf("%s no longer depends on the kind: remove it from registries or driven", path)
	}
	if len(files) < 300 {
		t.Errorf("%d files were found: too few to be all", len(files))
	}
}

// sourceFiles returns the product's Go files without tests.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files := goFiles(t, "cmd", "functions", "infra", "internal", "pkg")
	return slices.DeleteFunc(files, func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, kindHome+"/") || strings.HasPrefix(name, "internal/test/")
	})
}

// goFiles returns the Go files below these folders, with paths from the root.
func goFiles(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, dir := range folders {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "cdk.out"):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go"):
				name, err := filepath.Rel(root, path)
				files = append(files, filepath.ToSlash(name))
				return err
			}
			return nil
		})
		require.NoError(t, err)
	}
	return files
}

func isName(n ast.Node, name string) bool {
	ident, is := n.(*ast.Ident)
	return is && ident.Name == name
}

// TestPageHasNoPrefixOfAKind checks that the console's source has no kind's prefix, except in the generated file.
func TestPageHasNoPrefixOfAKind(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal/tool/console/web/src/*.ts"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		if found := prefixInScript(string(content)); found != "" && filepath.Base(path) != "kinds.ts" {
			t.Errorf("%s has %s: take it from kinds.ts", path, found)
		}
	}
}

// prefixInScript returns the first text that begins with a kind's prefix, or "" if there is
// none.
func prefixInScript(script string) string {
	var prefixes []string
	for _, k := range schema.Kinds() {
		prefixes = append(prefixes, regexp.QuoteMeta(schema.TraitsOf(k).Prefix))
	}
	return regexp.MustCompile("[\"'`](" + strings.Join(prefixes, "|") + ")").FindString(script)
}
