package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// header returns the part of an ELF header that checkBundles reads: 64 bits, little-endian, without sections, for a machine.
func header(machine byte) []byte {
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20], h[52], h[54], h[58] = 2, machine, 1, 64, 56, 64
	return h
}

// TestBundles checks that the error names each file that Lambda can't run, with the reason.
func TestBundles(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string]struct {
		content []byte
		mode    os.FileMode
	}{
		"good": {header(0xb7), 0o755}, "closed": {header(0xb7), 0o644}, "amd64": {header(0x3e), 0o755}, "script": {[]byte("#!/bin/sh\n"), 0o755},
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name, "bootstrap")
		if err := os.WriteFile(path, file.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, file.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkBundles(dir, []string{"good"}); err != nil {
		t.Error(err)
	}
	err := checkBundles(dir, []string{"good", "closed", "amd64", "script", "missing"})
	for _, want := range []string{"function closed: ", "has mode -rw-r--r--", "is for EM_X86_64: want 64-bit ARM", "function script: ", "function missing: ", "make functions"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "function good") {
		t.Errorf("error %v names the good file", err)
	}
}
