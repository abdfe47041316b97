package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// offsetVariable is the environment variable with the seconds by which a test program's clock
// is ahead.
const offsetVariable = "HOTSHARD_CLOCK_AHEAD"

// reading is the line of time.Now that gets the time. shifted adds the offset. Bubbles of
// testing/synctest and the monotonic clock, which measures waits, are not shifted.
const (
	reading = "\tsec, nsec, mono := runtimeNow()\n"
	shifted = reading + "\tif secondsAhead != 0 && !runtimeIsBubbled() {\n\t\tsec += secondsAhead\n\t}\n"
)

const aheadFile = `package time

import "syscall"

// secondsAhead is what Now adds to the machine's clock.
var secondsAhead = func() (n int64) {
	digits, _ := syscall.Getenv("` + offsetVariable + `")
	for _, d := range []byte(digits) {
		n = 10*n + int64(d-'0')
	}
	return n
}()
`

// shift returns the source of package time with a clock that can be ahead.
func shift(source []byte) ([]byte, error) {
	_, now, found := bytes.Cut(source, []byte("\nfunc Now() Time {\n"))
	if !found || !bytes.HasPrefix(now, []byte(reading)) || bytes.Count(source, []byte(reading)) != 1 {
		return nil, fmt.Errorf("this Go's time.Now is not as expected: adapt internal/test/clocktest to it")
	}
	return bytes.Replace(source, []byte(reading), []byte(shifted), 1), nil
}

// timeFolder returns the folder of package time.
func timeFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src", "time"), nil
}

// overlay writes the files for `go test -overlay` into dir and returns the name of the list.
func overlay(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	folder, err := timeFolder(ctx)
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return "", err
	}
	if source, err = shift(source); err != nil {
		return "", err
	}
	files := map[string][]byte{"time.go": source, "ahead.go": []byte(aheadFile)}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(folder, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// build compiles the suites' test binaries, with the overlay and the race detector, into dir/bin.
func build(ctx context.Context, dir, overlay string) error {
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	args := []string{"test", "-c", "-race", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", bin}
	for _, s := range suites {
		args = append(args, "./"+s.folder)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go test -c: %w", err)
	}
	return nil
}
