package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestFaults checks which faults a statement has.
func TestFaults(t *testing.T) {
	for statement, want := range map[string][]string{
		"x.f = 1":         {"statement: x.f = 1 -> ", "constant: 1 -> 2"},
		"x += 48":         {"statement: x += 48 -> ", "constant: 48 -> 24"},
		"f(a, b)":         {"statement: f(a, b) -> ", "arguments: a, b -> b, a"},
		"f(a, a)":         {"statement: f(a, a) -> "},
		"a = min(b, c)":   {"statement: a = min(b, c) -> ", "constant: min -> max"},
		"err, b := f()":   {"statement: err, b := f() -> "},
		"var err error":   nil,
		"return a <= b":   {"boundary: <= -> <", "operand: a <= b -> a", "operand: a <= b -> b"},
		"return a, err":   {"error: err -> nil"},
		"if ok { break }": {"condition: ok -> false && (ok)", "condition: ok -> true || (ok)", "statement: break -> "},
		"return true":     {"constant: true -> false"},
	} {
		text := "package p; func f() { " + statement + " }"
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		var p pkg
		p.collect(&source{"p.go", text, file}, fset)
		var got []string
		for _, f := range p.faults {
			got = append(got, fmt.Sprintf("%s: %s -> %s", f.operator, f.was, f.text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", statement, got, want)
		}
	}
}

// TestWithFaults checks the text that selects among a function's faults.
func TestWithFaults(t *testing.T) {
	const text = "package p\n\nfunc f(a int) int { return a + 1 }\n"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var p pkg
	s := &source{"p.go", text, file}
	p.collect(s, fset)
	p.faults = p.faults[:1]
	const want = "package p\n\nfunc f(a int) int { switch selectedFault {\n" +
		"case 1: return func() int /*line fault1.go:1:1*/{ return a - 1 }()\n}; return a + 1 }\n"
	if got := p.withFaults(s); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
