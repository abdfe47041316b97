package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestExitCodes checks the exit code and the line for a command's error, and after a signal.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		err    error
		code   int
		line   string
	}{
		{nil, nil, exitOK, ""},
		{nil, errors.New("no"), exitBad, "hotshard: no\n"},
		{os.Interrupt, nil, exitOK, ""},
		{os.Interrupt, fmt.Errorf("the shard map: %w", context.Canceled), 130, "hotshard: interrupted\n"},
		{syscall.SIGTERM, fmt.Errorf("the shard map: %w", context.Canceled), 143, "hotshard: terminated\n"},
		{os.Interrupt, errors.New("the stream is not drained"), 130, "hotshard: the stream is not drained\n"},
		{nil, errors.New("bad \x1b[31m"), exitBad, "hotshard: bad \\x1b[31m\n"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.signal != nil {
			cancel(interruption{c.signal})
		}
		var errOut bytes.Buffer
		if code := printOutcome(ctx, c.err, streams{io.Discard, &errOut}); code != c.code || errOut.String() != c.line {
			t.Errorf("signal %v, error %v: exit %d with %q, want %d with %q", c.signal, c.err, code, &errOut, c.code, c.line)
		}
		cancel(nil)
	}
}

// TestInterruptedCommands checks that interrupted commands exit with the signal's code and say so.
func TestInterruptedCommands(t *testing.T) {
	_, _, flags := tablesAt(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interruption{os.Interrupt})
	target := forgetful(t)
	for _, args := range [][]string{
		append([]string{"check"}, flags...), append([]string{"check", "--failed"}, flags...),
		append([]string{"delete", "--type", "counter", "--name", "x", "--yes"}, flags...),
		{"load", "--workload", "viral", "--seed", "1", "--target", target}, {"shards", "list", "--target", target},
	} {
		var out, errOut bytes.Buffer
		code := run(ctx, args, streams{&out, &errOut})
		if code != 130 || !strings.HasSuffix(errOut.String(), "hotshard: interrupted\n") || strings.Contains(errOut.String(), "unavailable") {
			t.Errorf("%q: exit %d with %q, want 130 and interrupted", args[0], code, &errOut)
		}
	}
}

// TestVersion checks that each form prints the commit, the version and Go's version.
func TestVersion(t *testing.T) {
	commit = "0123abc"
	t.Cleanup(func() { commit = "" })
	for _, args := range []string{"version", "--version", "version --json"} {
		code, out, err := hotshard(t, strings.Fields(args)...)
		if code != exitOK || err != "" || !strings.Contains(out, "0123abc") || !strings.Contains(out, "go1.") || !strings.Contains(out, "devel") {
			t.Errorf("%s: exit %d with %q, %q", args, code, out, err)
		}
	}
	commit = ""
	if v := thisVersion(); v.Commit == "" || v.Version == "" {
		t.Errorf("without a commit from the linker: %+v", v)
	}
}
