package main

import (
	"bytes"
	"testing"
)

// TestNoTerminal checks that there is no progress bar if the output is no terminal.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	add, finish := progressBar(&out, 10, "items")
	add(5)
	finish()
	if out.Len() > 0 || isTerminal(&out) || isTerminal(nil) {
		t.Errorf("output %q, and a buffer is a terminal: %t", &out, isTerminal(&out))
	}
}
