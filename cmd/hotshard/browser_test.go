package main

import (
	"strings"
	"testing"
)

// TestBrowserCommand checks the command that opens a browser on each system. Without a display there is none.
func TestBrowserCommand(t *testing.T) {
	display := func(value string) func(string) string {
		return func(name string) string { return map[string]string{"DISPLAY": value}[name] }
	}
	for want, got := range map[string][]string{
		"open u":       browserCommand("darwin", display(""), "u"),
		"xdg-open u":   browserCommand("linux", display(":0"), "u"),
		"rundll32 url": browserCommand("windows", display(""), "u"),
		"":             browserCommand("linux", display(""), "u"),
	} {
		if text := strings.Join(got, " "); !strings.HasPrefix(text, want) || want == "" && text != "" {
			t.Errorf("command %q, want %q", text, want)
		}
	}
}
