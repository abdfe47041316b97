package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeScript makes a program of a text. No child of another test is forked meanwhile: it would
// hold the file open for writing until its own exec, and a file so held can't be run ("text
// file busy").
func writeScript(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestAJavaThatHangs, with a child that holds on to its output.
func TestAJavaThatHangs(t *testing.T) {
	t.Parallel()
	java := filepath.Join(t.TempDir(), "java")
	writeScript(t, java, "#!/bin/sh\nsleep 30\n")
	begun := time.Now()
	_, err := versionOf(t.Context(), java, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // as Ctrl-C would
	defer cancel()
	if _, err := versionOf(ctx, java, time.Hour); err == nil {
		t.Error("no error when it is interrupted")
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
