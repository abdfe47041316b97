package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestTestsAreGivenTheirTime checks that no test depends on the hour or the date. Tests use fixed times, or those of
// enginetest. They read the machine's clock only
//
//   - to measure a duration or to bound a wait,
//   - to draw a seed,
//   - in a bubble of testing/synctest, whose clock begins at a fixed time,
//   - in the folders and files of ownClocks, without calculating days or hours.
func TestTestsAreGivenTheirTime(t *testing.T) {
	unused := map[string]bool{}
	for entry := range ownClocks {
		unused[entry] = true
	}
	files := testFiles(t)
	for _, file := range files {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		own := ownClock(file)
		for _, read := range clockReads(parsed) {
			if delete(unused, own); own == "" || read.days {
				t.Errorf("%s:%d depends on the machine's clock: use a fixed time, or one of enginetest", file, set.Position(read.at).Line)
			}
		}
	}
	for entry := range unused {
		t.Errorf("%s no longer reads the machine's clock: remove it from ownClocks", entry)
	}
	if len(files) < 100 {
		t.Errorf("%d files of tests were found: too few to be all", len(files))
	}
}

// testFiles returns all files of tests.
func testFiles(t *testing.T) []string {
	t.Helper()
	files := goFiles(t, "bench", "cmd", "examples", "functions", "infra", "internal", "pkg")
	return slices.DeleteFunc(files, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
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

// clockRead is a read of the machine's clock. days is true if days or hours are calculated from it.
type clockRead struct {
	at   token.Pos
	days bool
}

// clockReads returns a file's reads of the machine's clock that may depend on the hour.
func clockReads(file *ast.File) []clockRead {
	var found []clockRead
	for _, decl := range file.Decls {
		var path []ast.Node
		ast.Inspect(decl, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if isSelector(n, "time", "Now") && !harmless(decl, path) {
				found = append(found, clockRead{n.Pos(), reckonsDays(decl, path)})
			}
			path = append(path, n)
			return true
		})
	}
	return found
}

// harmless reports whether a use of time.Now, below the last node of the path, can't depend on
// the hour.
func harmless(decl ast.Node, path []ast.Node) bool {
	for _, n := range path {
		if call, is := n.(*ast.CallExpr); is && isSelector(call.Fun, "synctest", "Test") {
			return true
		}
	}
	i := len(path) - 1
	if call, is := path[i].(*ast.CallExpr); !is || len(call.Args) > 0 {
		return false // the function itself is passed on
	}
	for { // follow the chain of calls on the time
		selector, is := path[i-1].(*ast.SelectorExpr)
		if !is {
			break
		}
		switch selector.Sel.Name {
		case "Add":
			i -= 2
		case "After", "Before", "Sub":
			return true
		case "UnixNano":
			conversion, is := path[i-3].(*ast.CallExpr)
			return is && isName(conversion.Fun, "uint64") // a seed
		default:
			return false
		}
	}
	switch parent := path[i-1].(type) {
	case *ast.AssignStmt:
		at := slices.IndexFunc(parent.Rhs, func(e ast.Expr) bool { return e == path[i] })
		name, is := parent.Lhs[at].(*ast.Ident)
		return is && len(parent.Lhs) == len(parent.Rhs) && measures(decl, name)
	case *ast.CallExpr: // got.Before(time.Now())
		return isComparison(parent)
	}
	return false
}

// measures reports whether all uses of a variable in the function are comparisons with other
// times.
func measures(decl ast.Node, variable *ast.Ident) bool {
	ok := true
	var path []ast.Node
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		if isName(n, variable.Name) {
			ok = ok && compares(path, n)
		}
		path = append(path, n)
		return true
	})
	return ok
}

// compares reports whether a use of a variable is a comparison or an assignment to it.
func compares(path []ast.Node, use ast.Node) bool {
	switch parent := path[len(path)-1].(type) {
	case *ast.CallExpr:
		return isComparison(parent)
	case *ast.SelectorExpr:
		call, is := path[len(path)-2].(*ast.CallExpr)
		return is && parent.X == use && call.Fun == ast.Expr(parent) && isComparison(call)
	case *ast.AssignStmt:
		return slices.ContainsFunc(parent.Lhs, func(e ast.Expr) bool { return e == use })
	}
	return false
}

// reckonsDays reports whether days or hours are calculated from a time.Now. The time.Now is
// below the last node of the path; a variable that it is assigned to counts, too.
func reckonsDays(decl ast.Node, path []ast.Node) bool {
	i, found := calls(path, len(path)-1)
	assign, is := path[max(i-1, 0)].(*ast.AssignStmt)
	if found || !is || len(assign.Lhs) != len(assign.Rhs) {
		return found
	}
	at := slices.IndexFunc(assign.Rhs, func(e ast.Expr) bool { return e == path[i] })
	var way []ast.Node
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			way = way[:len(way)-1]
			return true
		}
		way = append(way, n)
		if name, is := assign.Lhs[at].(*ast.Ident); is && isName(n, name.Name) {
			_, days := calls(way, len(way)-1)
			found = found || days
		}
		return true
	})
	return found
}

// calls goes from a time to the last call of a chain such as at.UTC().Add(d). days reports
// whether a call in it calculates days or hours.
func calls(path []ast.Node, i int) (last int, days bool) {
	for ; i >= 2; i -= 2 {
		selector, is := path[i-1].(*ast.SelectorExpr)
		call, called := path[i-2].(*ast.CallExpr)
		if !is || !called || selector.X != path[i] {
			break
		}
		switch selector.Sel.Name {
		case "AddDate", "Clock", "Date", "Day", "Hour", "ISOWeek", "Month", "Weekday", "Year", "YearDay":
			days = true
		case "Truncate", "Round":
			days = days || slices.ContainsFunc(call.Args, namesHours)
		}
	}
	return i, days
}

// namesHours reports whether a duration refers to time.Hour.
func namesHours(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		found = found || isSelector(n, "time", "Hour")
		return true
	})
	return found
}

// isComparison reports whether a call is time.Since, time.Until, or a time's After, Before or
// Sub.
func isComparison(call *ast.CallExpr) bool {
	selector, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) != 1 {
		return false
	}
	if isName(selector.X, "time") {
		return selector.Sel.Name == "Since" || selector.Sel.Name == "Until"
	}
	return slices.Contains([]string{"After", "Before", "Sub"}, selector.Sel.Name)
}

func isSelector(n ast.Node, of, name string) bool {
	selector, is := n.(*ast.SelectorExpr)
	return is && selector.Sel.Name == name && isName(selector.X, of)
}

func isName(n ast.Node, name string) bool {
	ident, is := n.(*ast.Ident)
	return is && ident.Name == name
}

// TestClockReads checks which uses of the clock are found, and of which days are calculated.
func TestClockReads(t *testing.T) {
	const none, plain, days = 0, 1, 2
	for body, want := range map[string]int{
		`at := time.Now().UTC().Truncate(24*time.Hour); use(at)`: days,
		`at := time.Now().UTC(); use(at.Truncate(time.Hour))`:    days,
		`now := time.Now(); put(now.AddDate(0, 0, -1))`:          days,
		`name := "t" + time.Now().Format("150405")`:              plain,
		`put(time.Now().UTC().Add(time.Minute).Day())`:           days,
		`put(time.Now().Truncate(time.Millisecond))`:             plain,
		`put(time.Now())`:                                                                               plain,
		`s.now = time.Now`:                                                                              plain,
		`now := time.Now(); put(now)`:                                                                   plain,
		`now := time.Now().Add(-time.Hour); put(now)`:                                                   plain,
		`var now = time.Now(); put(now)`:                                                                plain,
		`at := time.Now().UnixNano(); put(at)`:                                                          plain,
		`a, b := time.Now(), f(); put(a, b)`:                                                            plain,
		`begun := time.Now(); f(); use(time.Since(begun))`:                                              none,
		`begun := time.Now(); begun = time.Now(); use(time.Now().Sub(begun))`:                           none,
		`for end := time.Now().Add(time.Minute); time.Now().Before(end); f() {}`:                        none,
		`end := time.Now().Add(time.Minute); if time.Now().After(end) { f() }`:                          none,
		`before := time.Now(); if got.Before(before) || got.After(time.Now().Add(time.Minute)) { f() }`: none,
		`seed := uint64(time.Now().UnixNano()); use(seed)`:                                              none,
		`synctest.Test(t, func(t *testing.T) { put(time.Now().AddDate(0, 0, 1)) })`:                     none,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", fmt.Sprintf("package x\nfunc f() { %s }", body), parser.SkipObjectResolution)
		require.NoError(t, err)
		got := none
		for _, read := range clockReads(file) {
			if got = max(got, plain); read.days {
				got = days
			}
		}
		if got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}
