package main

import (
	"os"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/base/keyname"
)

// commandLine is the program's name and arguments, for a user to run again.
type commandLine []string

// programName returns the name by which this program was called. A binary of go run is deleted when it ends, so
// programName returns the go run command instead.
func programName() string {
	if strings.Contains(os.Args[0], "/go-build") {
		return "go run ./cmd/hotshard"
	}
	return keyname.ShellWord(os.Args[0])
}

// withFlag returns the command line, quoted for a shell. It adds a flag whose value came from the environment, unless the
// flag was given or the value is "".
func (l commandLine) withFlag(flag, value string) string {
	words := []string{l[0]}
	for _, arg := range l[1:] {
		words = append(words, keyname.ShellWord(arg))
	}
	given := slices.ContainsFunc(l, func(arg string) bool { return arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") })
	if value != "" && !given {
		words = append(words, "--"+flag, keyname.ShellWord(value))
	}
	return strings.Join(words, " ")
}
