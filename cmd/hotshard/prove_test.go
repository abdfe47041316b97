package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/tool/prove"
)

// proving runs hotshard prove as a process, with a folder of its own for notes.
type proving struct {
	binary, home, endpoint string
}

func newProving(t *testing.T) *proving {
	t.Helper()
	return &proving{build(t), t.TempDir(), enginetest.Endpoint(t)}
}

func (p *proving) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := exec.Command(p.binary, append([]string{"prove", "--local", "--endpoint", p.endpoint}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+p.home, "HOME="+p.home)
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// notes returns the ids of runs with notes, which are below the user's cache folder.
func (p *proving) notes(t *testing.T) (ids []string) {
	t.Helper()
	for _, cache := range []string{".", "*"} {
		paths, err := filepath.Glob(filepath.Join(p.home, cache, "hotshard", "prove", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			ids = append(ids, strings.TrimSuffix(filepath.Base(path), ".json"))
		}
	}
	return ids
}

// left returns the tables of the runs with these ids.
func (p *proving) left(t *testing.T, ids []string) (names []string) {
	t.Helper()
	pages := dynamodb.NewListTablesPaginator(dynamolocal.DynamoDB(p.endpoint, ""), &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range page.TableNames {
			for _, id := range ids {
				if strings.HasPrefix(name, "hotshard-prove-"+id+"-") {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// TestProveKilled kills a run at a random moment, and interrupts another. A cleanup must remove what the killed run left, by
// its note. The interrupted run must remove everything itself.
func TestProveKilled(t *testing.T) {
	t.Parallel()
	p := newProving(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	for range lane.Runs(1, 6) {
		p.kill(t, time.Duration(draw.Int64N(int64(4*time.Second))))
		p.interrupt(t, time.Duration(draw.Int64N(int64(4*time.Second))))
	}
}

// start starts a run, and returns some time after its note was written.
func (p *proving) start(t *testing.T, after time.Duration) (run *exec.Cmd, ids []string, out *bytes.Buffer) {
	t.Helper()
	run, out = p.command("--quick", "--yes", "--out", filepath.Join(t.TempDir(), "x"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ids = p.awaitNote(t)
	time.Sleep(after)
	return run, ids, out
}

func (p *proving) kill(t *testing.T, after time.Duration) {
	t.Helper()
	run, ids, out := p.start(t, after)
	concurrent, printed := p.command("--cleanup")
	if err := concurrent.Run(); err != nil || !strings.Contains(printed.String(), "still running") {
		t.Errorf("a cleanup during the run: %v:\n%s", err, printed)
	}
	_ = run.Process.Kill()
	_ = run.Wait()
	if noted := p.notes(t); len(noted) != 1 || noted[0] != ids[0] {
		t.Errorf("killed after %v: the notes are %v, want %v:\n%s", after, noted, ids, out)
	}
	cleanup, printed := p.command("--cleanup")
	if err := cleanup.Run(); err != nil || !strings.Contains(printed.String(), "removing the resources of run "+ids[0]) || !strings.Contains(printed.String(), "nothing of earlier runs is left") {
		t.Errorf("the cleanup: %v:\n%s", err, printed)
	}
	if tables, noted := p.left(t, ids), p.notes(t); tables != nil || noted != nil {
		t.Errorf("killed after %v: tables %v and notes %v are left", after, tables, noted)
	}
}

func (p *proving) interrupt(t *testing.T, after time.Duration) {
	t.Helper()
	run, ids, out := p.start(t, after)
	_ = run.Process.Signal(syscall.SIGINT)
	err := run.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitSignal+int(syscall.SIGINT) {
		t.Errorf("interrupted after %v: %v:\n%s", after, err, out)
	}
	if tables, noted := p.left(t, ids), p.notes(t); tables != nil || noted != nil {
		t.Errorf("interrupted after %v: tables %v and notes %v are left:\n%s", after, tables, noted, out)
	}
}

// awaitNote waits until a run has a note.
func (p *proving) awaitNote(t *testing.T) []string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ids := p.notes(t); ids != nil {
			return ids
		}
	}
	t.Fatal("the run has no note after a minute")
	return nil
}

// TestProveAsks checks that a run begins only with a yes, below the ceiling and with an engine.
func TestProveAsks(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for args, want := range map[string]string{
		"prove --local":                                     "nothing was started: without a terminal, confirm with --yes",
		"prove --local --yes --ceiling 0.1":                 "the ceiling is $0.10",
		"prove --local --yes --endpoint http://127.0.0.1:1": "no DynamoDB-compatible engine",
	} {
		code, out, text := hotshard(t, strings.Fields(args)...)
		if code != exitBad || out != "" || !strings.Contains(text, want) {
			t.Errorf("%s: exit %d with %q and %q, want 1 and %q", args, code, text, out, want)
		}
	}
	for answer, begins := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false} {
		var question bytes.Buffer
		if err := askToBegin(t.Context(), strings.NewReader(answer), &question); (err == nil) != begins || question.String() != "Begin? y/N: " {
			t.Errorf("answer %q to %q: error %v, want the run to begin: %t", answer, &question, err, begins)
		}
	}
	if err := askToBegin(t.Context(), iotest.ErrReader(errors.New("torn")), io.Discard); err == nil || err.Error() != "nothing was started: reading the answer: torn" {
		t.Errorf("a broken input: %v", err)
	}
}

// TestProveDescribesRun checks the description of a run, its duration and its cost.
func TestProveDescribesRun(t *testing.T) {
	c := ProveCmd{Local: true, Ceiling: 5}
	site, err := c.site(t.Context(), streams{out: os.Stdout, err: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	prove.Options{Site: site, Plan: c.plan(), Ceiling: c.Ceiling}.Describe(&text)
	wantText(t, text.String(), "begin with hotshard-prove-", "calls of a counter in a storm", "in 3m14s", "On AWS that would cost up to $", "The ceiling is $5.00")
	text.Reset()
	prove.Options{Site: prove.AWS{}, Plan: (&ProveCmd{}).plan(), Ceiling: 5}.Describe(&text)
	wantText(t, text.String(), "190000 calls of a counter in a storm", "it costs up to $3.0", "ends at the ceiling of $5.00")
}

// TestProveExample checks that the docs' example is a complete run, with all sections of the page.
func TestProveExample(t *testing.T) {
	content, err := os.ReadFile("../../docs/performance/prove-local.json")
	if err != nil {
		t.Fatal(err)
	}
	var example prove.Report
	if err := json.Unmarshal(content, &example); err != nil || example.Fault != "" || len(example.Storms) != 2 {
		t.Errorf("example %+v, %v; want two storms and no fault", example, err)
	}
	wantText(t, example.Markdown(), "Run "+example.Run+", on this machine", "## When one partition throttles", "| counters, 60 a second |", "## Keyed calls", "## Cold starts", "| USD |")
}
