package dynamolocal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// writeScript writes an executable script. It blocks forks meanwhile, since a child of another test would hold the file
// open until its exec. Such a file can't be run ("text file busy").
func writeScript(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}

// TestJavaHangs checks the time-out for a java whose child holds the output open.
func TestJavaHangs(t *testing.T) {
	t.Parallel()
	java := filepath.Join(t.TempDir(), "java")
	writeScript(t, java, "#!/bin/sh\nsleep 30\n")
	begun := time.Now()
	_, err := javaVersionOutput(t.Context(), java, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("error = %v, want a time-out", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // as Ctrl-C does
	defer cancel()
	if _, err := javaVersionOutput(ctx, java, time.Hour); err == nil {
		t.Error("no error after Ctrl-C")
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("both took %v, want at most 20s", took)
	}
}

func TestJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`:    17,
		`java version "1.8.0_392"`:                8,
		`openjdk version "21" 2023-09-19`:         21,
		`openjdk version "24-ea" 2025-03-18`:      24,
		"Picked up X\nopenjdk version \"11.0.2\"": 11,
	} {
		if got, err := parseJavaVersion(out); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", out, got, err, want)
		}
	}
	if _, err := parseJavaVersion("what"); err == nil {
		t.Error("no error for text without a version")
	}
}

func TestStartNamesWhatToInstall(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := StartEngine(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "install Java 17") {
		t.Errorf("without java: %v", err)
	}
	old := "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n"
	writeScript(t, filepath.Join(bin, "java"), old)
	if _, err := StartEngine(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "is Java 11: install Java 17") {
		t.Errorf("with Java 11: %v", err)
	}
}
