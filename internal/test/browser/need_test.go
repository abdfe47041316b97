package browser

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
)

const (
	goIs   = "Go 1.26 or newer, which builds hotshard and its tests (or 1.21 with GOTOOLCHAIN=auto): "
	javaIs = "Java 17 or newer (a JRE is enough), which runs DynamoDB Local: "
	nodeIs = "Node 22 or newer, which fetches DynamoDB Local, bundles the console and runs the CDK: "
)

// good are outputs of programs that are new enough.
var good = map[string]string{
	"go": "go version go1.26.8 linux/amd64", "java": `openjdk version "17.0.15" 2025-04-15`, "node": "v20.20.2",
	"npm": "", "git": "", "curl": "", "gcc": "", "chromium": "",
}

// check runs need.sh on a PATH with programs that print these outputs. It returns the exit status and the output. Its
// browsers are chromium and chrome, since a Mac's have absolute paths.
func check(t *testing.T, programs map[string]string, things ...string) (int, string) {
	t.Helper()
	bin := t.TempDir()
	for _, tool := range []string{"sh", "sed", "head", "cat", "env", "uname"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, tool))
		}
		require.NoError(t, err)
	}
	for name, text := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ncat >&2 <<'END'\n"+text+"\nEND\n"), 0o700))
	}
	names := filepath.Join(bin, "names.txt")
	require.NoError(t, os.WriteFile(names, []byte("chromium\nchrome\n"), 0o600))
	cmd := exec.Command("sh", append([]string{"./need.sh"}, things...)...)
	cmd.Env = append(cmd.Environ(), "PATH="+bin, "CC=", "HOTSHARD_BROWSER_NAMES="+names)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// with returns good with changes; the text "none" removes a program.
func with(changes map[string]string) map[string]string {
	programs := maps.Clone(good)
	for name, text := range changes {
		if programs[name] = text; text == "none" {
			delete(programs, name)
		}
	}
	return programs
}

func TestNothingMissing(t *testing.T) {
	t.Setenv("HOTSHARD_ENDPOINT", "")
	for _, changes := range []map[string]string{
		{},
		{"go": "go version go1.27rc1 linux/arm64", "java": "Picked up X\njava version \"25-ea\" 2025-09-16", "node": "v22.1.0"},
		{"go": "go version go1.27-devel_a1b2c3 darwin/arm64", "gcc": "none", "clang": ""},
		{"go": "go version go2.0 linux/amd64"},
	} {
		if code, out := check(t, with(changes), "go", "java", "node", "git", "curl", "cc", "browser"); code != 0 || out != "" {
			t.Errorf("%v: exit %d, %s; want 0 and nothing", changes, code, out)
		}
	}
}

func TestAllMissingThingsAtOnce(t *testing.T) {
	t.Setenv("HOTSHARD_ENDPOINT", "")
	code, out := check(t, nil, "go", "java", "node", "git", "curl", "cc")
	want := `These are missing:
  ` + goIs + `not found
  ` + javaIs + `not found
  ` + nodeIs + `not found
  npm, which comes with Node: not found
  git, which lists the files that tests check: not found
  curl, which tests run as the docs do: not found
  a C compiler, which Go's race detector needs: not found
Install them with one of
  sudo apt-get install -y golang-go default-jre-headless nodejs npm git curl gcc
  brew install go temurin node git curl gcc
  sudo dnf install -y golang java-21-openjdk-headless nodejs npm git curl gcc
If a distribution's package is too old: Go is at https://go.dev/dl, Java at https://adoptium.net, Node at https://nodejs.org.
`
	if diff := cmp.Diff(want, out); code != 1 || diff != "" {
		t.Errorf("exit %d, want 1 (-want +got):\n%s", code, diff)
	}
}

func TestTooOldOrBroken(t *testing.T) {
	t.Setenv("HOTSHARD_ENDPOINT", "")
	tests := []struct{ program, prints, want string }{
		{"go", "go version go1.25.3 linux/amd64", goIs + "found Go 1.25\n"},
		{"java", `openjdk version "11.0.2" 2019-01-15`, javaIs + "found Java 11\n"},
		{"java", `java version "1.8.0_392"`, javaIs + "found Java 8\n"},
		{"java", "The operation couldn't be completed. Unable to locate a Java Runtime.", javaIs + "not found\n"},
		{"node", "v18.19.0", nodeIs + "found Node 18\n"},
		{"go", "go version go1.20.14 linux/amd64", goIs + "found Go 1.20\n"},
		{"npm", "none", "npm, which comes with Node: not found\n"},
	}
	for _, tt := range tests {
		code, out := check(t, with(map[string]string{tt.program: tt.prints}), "go", "java", "node")
		if !strings.HasPrefix(out, "These are missing:\n  "+tt.want+"Install") || code != 1 {
			t.Errorf("%s prints %q: exit %d, %s; want 1 and %s", tt.program, tt.prints, code, out, tt.want)
		}
	}
}

// TestGoThatDownloadsGo checks that Go 1.21 or newer is accepted, since it downloads the version of go.mod, unless
// GOTOOLCHAIN forbids it. The fake go prints a setting for `go env` and a version for `go version`.
func TestGoThatDownloadsGo(t *testing.T) {
	for _, tt := range []struct {
		version, toolchain string
		want               int
	}{
		{"1.21.0", "auto", 0}, {"1.24.4", "auto", 0}, {"1.25.1", "go1.25.1+auto", 0},
		{"1.24.4", "local", 1}, {"1.24.4", "go1.24.4", 1}, {"1.24.4", "path", 1}, {"1.20.14", "auto", 1}, {"1.26.0", "local", 0},
	} {
		fake := fmt.Sprintf("END\ncase $1 in env) echo %s ;; version) echo go version go%s linux/amd64 ;; esac\ncat <<'END' >/dev/null", tt.toolchain, tt.version)
		if code, out := check(t, map[string]string{"go": fake}, "go"); code != tt.want {
			t.Errorf("Go %s, GOTOOLCHAIN %s: exit %d, %s; want %d", tt.version, tt.toolchain, code, out, tt.want)
		}
	}
}

// TestOnlyNeededThings checks that need.sh checks only its arguments, and no Java if the user has an engine.
func TestOnlyNeededThings(t *testing.T) {
	if code, out := check(t, map[string]string{"go": good["go"]}, "go"); code != 0 {
		t.Errorf("exit %d, %s", code, out)
	}
	t.Setenv("HOTSHARD_ENDPOINT", "http://127.0.0.1:8000")
	if code, out := check(t, with(map[string]string{"java": "none"}), "go", "java", "node"); code != 0 {
		t.Errorf("with HOTSHARD_ENDPOINT: exit %d, %s; want 0", code, out)
	}
}

// TestNoBrowser checks that a missing browser is reported, with exit status 0.
func TestNoBrowser(t *testing.T) {
	t.Setenv("HOTSHARD_BROWSER", "")
	code, out := check(t, nil, "browser")
	if !strings.HasPrefix(out, "No browser was found: ") || !strings.Contains(out, "apt-get install -y chromium") || strings.Count(out, "\n") != 1 || code != 0 {
		t.Errorf("exit %d, %s", code, out)
	}
	for name, want := range map[string]string{
		"none":    "HOTSHARD_BROWSER is none: the console's browser tests are left out.\n",
		"other":   "",
		"nowhere": "No browser was found: the console's browser tests are left out. ",
	} {
		t.Setenv("HOTSHARD_BROWSER", name)
		code, out := check(t, map[string]string{"chromium": "", "other": ""}, "browser")
		if !strings.HasPrefix(out, want) || (out == "") != (want == "") || code != 0 {
			t.Errorf("HOTSHARD_BROWSER=%s: exit %d, %s; want 0 and %q", name, code, out, want)
		}
	}
}
