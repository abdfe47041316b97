package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
)

// notRun has patterns of the commands that TestPagesCommands omits, with the reasons.
var notRun = []struct{ command, why string }{
	{`^make (run|test|build|lint|synth|test-long)\b|^go (build|test|vet)\b`, ".ci/run runs it, or runs what it starts"},
	{`^make (bootstrap|deploy|destroy)\b`, "it needs an AWS account"},
	{`^aws |^curl --aws-sigv4|--target "\$api" *$`, "it needs an AWS account"},
	{`^(bin/)?hotshard demo\b`, "TestDemo runs it"},
	{`# +asks first, on a terminal`, "it asks on a terminal; TestAsk answers"},
}

// TestPagesCommands runs the commands in the sh blocks of README.md and docs/*.md against hotshard local, page by page.
// It compares their output with the JSON on the page.
func TestPagesCommands(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	site, ran := newSite(t), 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		commands := pageCommands(string(text))
		if ran += len(commands); len(commands) > 0 {
			t.Run(filepath.Base(page), func(t *testing.T) { site.run(t, commands) })
		}
	}
	if ran < 30 {
		t.Errorf("the pages have %d commands, want 30 or more", ran)
	}
}

// pageCommand is a command of a page, and the JSON below it, if any.
type pageCommand struct{ text, shows string }

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// pageCommands returns the commands of a page's sh blocks that can run in the test.
func pageCommands(page string) (list []pageCommand) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		continued := ""
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasSuffix(line, `\`):
				continued += strings.TrimSuffix(line, `\`)
			case strings.HasPrefix(line, "# {") && len(list) > 0:
				list[len(list)-1].shows = line[2:]
			case strings.HasPrefix(line, "#") || line == "":
			default:
				list, continued = append(list, pageCommand{text: continued + line}), ""
			}
		}
	}
	return slices.DeleteFunc(list, func(c pageCommand) bool { return isOmitted(c.text) })
}

func isOmitted(command string) bool {
	for _, n := range notRun {
		if regexp.MustCompile(n.command).MatchString(command) {
			return true
		}
	}
	return false
}

// site is the environment of the pages' commands: a folder with the repository's bin and events, a system, and the
// table orders with a writer.
type site struct{ folder, api, engine string }

// wrapper stands for bin/hotshard. It replaces the default system by the test's, sends a tenth of a load, and
// interrupts commands that run until Ctrl-C.
const wrapper = `#!/bin/bash
[ "$1" = load ] && set -- "${@/%%000/00}"
case "$1" in
load|shards) case " $* " in *--endpoint*|*" spread "*) ;; *) set -- "$@" --target %[2]s ;; esac ;;
top) case " $* " in *--duration*) set -- "${@/60s/15s}" ;; *) set -- "$@" --duration 15s ;; esac ;;
delete) case " $* " in *--settle*|*--dry-run*) ;; *) set -- "$@" --settle 10s ;; esac ;;
console|throttle) timeout --signal=INT 3 %[1]s "$@" --addr 127.0.0.1:0; code=$?; [ $code = 124 ] && exit 0; exit $code ;;
esac
exec %[1]s "$@"
`

func newSite(t *testing.T) *site {
	t.Helper()
	binary, addr := command(t), freeAddr(t)
	s := &site{folder: t.TempDir(), api: "http://" + addr}
	running := exec.Command(binary, "local", "--idle-window", "1s", "--addr", addr, "--failures", filepath.Join(t.TempDir(), "failures.jsonl"))
	running.Env = append(os.Environ(), "HOTSHARD_ENDPOINT=")
	running.Stderr = os.Stderr
	out := follow(t, running)
	out.expect(t, "API docs")
	for line := range out.lines {
		if name, url, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "DynamoDB" {
			s.engine = strings.TrimSpace(url)
			break
		}
	}
	if response, err := http.Get(s.api + "/healthz"); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the system at %s: %v, %v", s.api, response, err)
	}
	for _, folder := range []string{"bin", "infra"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.folder, folder), 0o755))
	}
	script := fmt.Sprintf(wrapper, binary, s.api)
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "bin", "hotshard"), []byte(script), 0o755))
	events, err := filepath.Abs("../../events")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(events, filepath.Join(s.folder, "events")))
	s.orders(t)
	return s
}

// orders creates the pages' table orders, and writes to it until the test ends.
func (s *site) orders(t *testing.T) {
	t.Helper()
	db := dynamolocal.DynamoDB(s.engine, "")
	createTable(t, db, "orders", types.StreamViewTypeNewAndOldImages, "customer", "placed")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item{"customer": str("acme"), "placed": str(fmt.Sprint(i))}})
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// pageTime bounds the commands of a page.
const pageTime = 4 * time.Minute

// run runs a page's commands in one shell, in order.
func (s *site) run(t *testing.T, commands []pageCommand) {
	var script strings.Builder
	for i, c := range commands {
		text := strings.NewReplacer("http://127.0.0.1:8080", s.api, "http://127.0.0.1:PORT", s.engine, "http://127.0.0.1:8000", s.engine).Replace(c.text)
		fmt.Fprintf(&script, "%s\necho; echo \"@@ %d $?\"\n", text, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir = s.folder
	shell.Env = append(os.Environ(), "HOTSHARD_ENDPOINT="+s.engine, "PATH="+filepath.Join(s.folder, "bin")+":"+os.Getenv("PATH"))
	var out, faults bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &faults
	err := shell.Run()
	parts := strings.Split(out.String(), "\n@@ ")
	for i, c := range commands {
		if i+1 >= len(parts) {
			t.Fatalf("the page's commands ended in this one (%v):\n%s\n%s", err, c.text, faults.String())
		}
		printed := parts[i]
		if i > 0 {
			_, printed, _ = strings.Cut(printed, "\n")
		}
		status, _, _ := strings.Cut(parts[i+1], "\n")
		if status != fmt.Sprintf("%d 0", i) {
			t.Errorf("%s\nended with the status %s:\n%s\n%s", c.text, status, printed, faults.String())
		}
		if c.shows != "" && !strings.Contains(undated(printed), undated(c.shows)) {
			t.Errorf("%s\nprinted\n%s\nbut the page shows\n%s", c.text, strings.TrimSpace(printed), c.shows)
		}
	}
}

var (
	pageDates = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)
	pageULIDs = regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`)
)

// undated replaces times and ULIDs, which differ in each run.
func undated(text string) string {
	return pageULIDs.ReplaceAllString(pageDates.ReplaceAllString(text, "TIME"), "ULID")
}
