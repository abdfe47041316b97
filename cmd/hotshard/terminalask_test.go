package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestAskReadsALine checks the question and its answer, and the errors of a broken input and of a cancelled context.
func TestAskReadsALine(t *testing.T) {
	for input, want := range map[string]string{" yes \nno\n": "yes", "y": "y", "": "", "\n": ""} {
		var out bytes.Buffer
		if answer, err := ask(t.Context(), strings.NewReader(input), &out, "Go on? "); err != nil || answer != want || out.String() != "Go on? " {
			t.Errorf("input %q: answer %q, %v, question %q; want the answer %q", input, answer, err, &out, want)
		}
	}
	broken := errors.New("unplugged")
	if _, err := ask(t.Context(), iotest.ErrReader(broken), io.Discard, ""); !errors.Is(err, broken) {
		t.Errorf("broken input: %v, want %v", err, broken)
	}
	in, silent := io.Pipe()
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if _, err := ask(ctx, in, &out, "Go on? "); !errors.Is(err, context.Canceled) || out.String() != "Go on? \n" {
		t.Errorf("cancelled: %v, question %q; want context.Canceled and a line end", err, &out)
	}
}

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
