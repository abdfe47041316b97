package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// VersionCmd is hotshard version, which prints the version, the commit and Go's version.
type VersionCmd struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// commit and release are set by `make`: -ldflags "-X main.commit=... -X main.release=...". "" is unknown.
var commit, release string

// version describes this program.
type version struct {
	Version  string `json:"version"` // of the release or the module, "(devel)" for a checkout
	Commit   string `json:"commit"`  // with -dirty if there were changes, "unknown" without git
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version.
func (c *VersionCmd) Run(std streams) error {
	v := thisVersion()
	if c.JSON {
		return printJSON(std.out, v)
	}
	_, err := fmt.Fprintln(std.out, v)
	return err
}

// thisVersion returns the version that make or go build stamped into this program.
func thisVersion() version {
	v := version{Version: "(devel)", Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v.Version = cmp.Or(release, info.Main.Version, v.Version)
	stamped := map[string]string{}
	for _, s := range info.Settings {
		stamped[s.Key] = s.Value
	}
	if stamped["vcs.modified"] == "true" {
		stamped["vcs.revision"] += "-dirty"
	}
	v.Commit = cmp.Or(v.Commit, stamped["vcs.revision"], "unknown")
	return v
}

// String returns the version in three lines.
func (v version) String() string {
	return fmt.Sprintf("hotshard %s\ncommit   %s\nbuilt by %s for %s", v.Version, v.Commit, v.Go, v.Platform)
}
