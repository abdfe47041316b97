package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAsk(t *testing.T) {
	for input, want := range map[string]string{" yes \nno\n": "yes", "y": "y", "": "", "\n": ""} {
		var out bytes.Buffer
		if answer, err := Ask(t.Context(), strings.NewReader(input), &out, "Go on? "); err != nil || answer != want || out.String() != "Go on? " {
			t.Errorf("%q: %q, %v, asked %q", input, answer, err, &out)
		}
	}
	broken := errors.New("unplugged")
	if _, err := Ask(t.Context(), iotest.ErrReader(broken), io.Discard, ""); !errors.Is(err, broken) {
		t.Errorf("of a broken input: %v", err)
	}
	in, typist := io.Pipe()
	defer typist.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if _, err := Ask(ctx, in, &out, "Go on? "); !errors.Is(err, context.Canceled) || out.String() != "Go on? \n" {
		t.Errorf("after the end: %v, asked %q", err, &out)
	}
}

// TestNoTerminal checks that no bar is drawn if the output is not a terminal.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	add, finish := Progress(&out, 10, "items")
	add(5)
	finish()
	if out.Len() > 0 || Is(&out) || Is(nil) {
		t.Errorf("drawn is %q", &out)
	}
}
