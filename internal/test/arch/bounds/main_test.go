package main

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestFigures checks all printed figures for a small repository.
func TestFigures(t *testing.T) {
	h := newCounts()
	for name, text := range map[string]string{
		"pkg/a/one.go":         "package a\n\nimport _ \"" + module + "internal/b\"\n\ntype T[V any] struct{}\n" + strings.Repeat("func (*T[V]) M() {}\n", maxMethods+1),
		"pkg/a/two.go":         "package a\n" + strings.Repeat("\n", maxLines),
		"cmd/c/main.go":        "package main\n\nimport _ \"" + module + "internal/b\"\n",
		"cmd/c/main_test.go":   "package main\n\nimport _ \"" + module + "internal/forc\"\n",
		"internal/b/b.go":      "package b\n\nimport (\n\t_ \"fmt\"\n\t_ \"" + module + "internal/d\"\n)\n\ntype S int\n\n// M\n// does\n// nothing\nfunc (S) M() {\n}\n",
		"internal/b/b_test.go": "package b\n\ntype s struct { A, B int `env:\"A_B\" default:\"1\"` }\n",
		"internal/d/d.go":      "package d\n\nimport _ \"" + module + "internal/b\"\n", // an import cycle, which is invalid Go
		"internal/forc/f.go":   "package forc\n\nimport (\n\t_ \"" + module + "internal/b\"\n\t_ \"" + module + "internal/more\"\n)\n",
		"internal/more/m.go":   "package more\n",
		"internal/cmd/m.go":    "package main\n\n",
		"docs/x/y.md":          "# Some words\n\nare here\n",
		"bench/some.go":        "package bench\n\nimport _ \"" + module + "internal/more\"\n",
	} {
		require.NoError(t, h.add(name, []byte(text)))
	}
	var out strings.Builder
	require.NoError(t, h.print(&out))
	want := `  2539 lines of source that is deployed or imported
     3 lines of other product source
     9 lines of test support
     6 lines of tests
     3 lines of bench, its tests included
     7 packages without bench
     1 settings
     5 words of docs

    17 functions: 1 lines at the median, 1 at the 90th percentile; comments are 0.1 % of the lines of source

test support:
     6 lines,   1 files  internal/forc
     2 lines,   1 files  internal/cmd
     1 lines,   1 files  internal/more

packages of more than 2500 lines or 20 files:
  2522 lines,   2 files  pkg/a

types with more than 15 methods:
    16  pkg/a.T
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	if err := h.add("c/c.go", []byte("no Go")); err == nil {
		t.Error("a file that can't be parsed was counted")
	}
}
