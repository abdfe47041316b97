package sums

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// unions has the functions whose ADD adds to a set, which a repeated write does not change.
var unions = map[string]string{"internal/hotkeys.budget.claimName": "ADD digests", "internal/fold.NoteRows": "ADD #players"}

// TestEverySumIsTested checks that a case names each function that sends a sum.
func TestEverySumIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range cases {
		for _, name := range c.of {
			tested[name] = true
		}
	}
	found := sumsIn(t, "../../..")
	for name, why := range found {
		if tested[name] == (unions[name] != "") {
			t.Errorf("%s sends a sum (%s): name it in a case of TestASumIsRepeatedOnceAtMost, or in unions", name, why)
		}
		delete(tested, name)
	}
	for name := range tested {
		t.Errorf("%s sends no sum: remove it from its case", name)
	}
	for name, text := range unions {
		if !strings.Contains(found[name], text) {
			t.Errorf("%s no longer has %q: remove it from unions", name, text)
		}
	}
}

// TestFindsSums checks each form in which collect finds a sum.
func TestFindsSums(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "x.go", `package x
		const text = "ADD hits :one"
		func (t *thing) Persisted() { dynamo.PersistSum(ctx, t.send) }
		func added() { use("SET a = :a ADD #n :n") }
		func set() { use("SET n = if_not_exists(n, :zero) + :n") }
		func joined() { use("SET n = n" + " - :n") }
		func indirect() { use(text) }
		func Callers(in *dynamodb.UpdateItemInput) {}
		func no() { use("SET n = :n"); use("ADDRESS"); dynamo.Persist(ctx, nil) }`, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := map[string]string{}
	collect(file, "pkg/x", found)
	for _, name := range []string{"pkg/x.thing.Persisted", "pkg/x.added", "pkg/x.set", "pkg/x.joined", "pkg/x.text", "pkg/x.Callers"} {
		if found[name] == "" {
			t.Errorf("%s is not found", name)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("also found %v, which are no sums", found)
	}
}

// sumsIn returns the functions of the repository that send a sum, each with the reason.
func sumsIn(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{"cmd", "examples", "functions", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (name == "internal/test" || name == "internal/aws"): // tests, and models of AWS
				return filepath.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				collect(file, filepath.ToSlash(filepath.Dir(name)), found)
			}
			return err
		})
		require.NoError(t, err)
	}
	return found
}

// sum matches the part of an update expression that adds.
var sum = regexp.MustCompile(`\bADD [#:a-z]|[+-] :[a-z]`)

// collect adds a file's functions and constants that send a sum.
func collect(file *ast.File, folder string, found map[string]string) {
	for _, d := range file.Decls {
		names := []string{}
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, folder+"."+receiver(d)+d.Name.Name)
			if strings.HasPrefix(folder, "pkg/") && !strings.Contains(folder, "/internal/") && d.Name.IsExported() && takesUpdate(d.Type) {
				found[names[0]] = "its caller's update"
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if value, ok := s.(*ast.ValueSpec); ok {
					for _, name := range value.Names {
						names = append(names, folder+"."+name.Name)
					}
				}
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			why := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "PersistSum" {
					why = "PersistSum"
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && sum.MatchString(n.Value) {
					why = n.Value
				}
			}
			if why != "" {
				for _, name := range names {
					found[name] = why
				}
			}
			return true
		})
	}
}

// receiver returns the name of a method's type and a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// takesUpdate reports whether a function takes a caller's update.
func takesUpdate(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		name, ok := star.X.(*ast.SelectorExpr)
		return ok && name.Sel.Name == "UpdateItemInput"
	})
}

func TestMain(m *testing.M) { libtest.Main(m) }
