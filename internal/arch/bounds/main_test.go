package main

import (
	"strings"
	"testing"
)

func TestBoundsCountWhatIsThere(t *testing.T) {
	h := house{packages: map[string]*size{}, methods: map[string]int{}}
	for name, text := range map[string]string{
		"a/one.go":      "package a\n\ntype T[V any] struct{}\n" + strings.Repeat("func (*T[V]) M() {}\n", maxMethods+1),
		"a/two.go":      "package a\n" + strings.Repeat("\n", maxLines),
		"b/b.go":        "package b\n\ntype S int\n\nfunc (S) M() {}\n",
		"b/b_test.go":   "package b\n\n",
		"bench/some.go": "package bench\n",
	} {
		if err := h.add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := h.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `  2525 lines of product source
     2 lines of tests
     1 lines of bench, its tests among them

packages of more than 2500 lines or 20 files:
  2520 lines,   2 files  a

types with more than 15 methods:
    16  a.T
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	if err := h.add("c/c.go", []byte("no Go")); err == nil {
		t.Error("what can't be parsed was counted")
	}
}
