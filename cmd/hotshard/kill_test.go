package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// asCommand makes this test program run its arguments as the command line.
const asCommand = "HOTSHARD_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the path of a program that runs the command line.
func command(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "hotshard")
	syscall.ForkLock.RLock() // a child that is forked now would keep the file open, and a file open for writing can't be run
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, program), 0o755))
	return path
}

// process is a command that the test may kill.
type process struct {
	*exec.Cmd
	lines chan string
}

func start(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"local"}, args...)...)
	cmd.Stderr = os.Stderr
	p := follow(t, cmd)
	p.expect(t, "API docs")
	return p
}

// follow starts a command, collects its lines, and kills it after the test.
func follow(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, lines: make(chan string, 1000)}
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

func (p *process) expect(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("hotshard local ended without the line %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			t.Fatalf("hotshard local did not print %q within a minute", text)
		}
	}
}

// freeAddr returns an address on which nothing listens, even while the command is down: its port is below those of outgoing
// connections, of listeners on port 0, and of engines.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(9_000))
		if listener, err := net.Listen("tcp", addr); err == nil {
			listener.Close()
			return addr
		}
	}
	t.Fatal("100 ports are in use")
	return ""
}

// TestKilledAndStartedAgain kills hotshard local during a load, while its engine runs on, and starts it again. Afterwards
// each accepted write exists, each summary is exact, and the command ends when it is interrupted.
func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	kills, count := require.Runs(1, 3), require.Runs(150, 3000)
	binary, addr := command(t), freeAddr(t)
	args := []string{
		"--addr", addr, "--endpoint", enginetest.Endpoint(t), "--window", "1s",
		"--prefix", enginetest.Prefix("killed"),
		"--failures", filepath.Join(t.TempDir(), "failures.jsonl"),
	}
	source := load.Synthetic{Workload: load.Zipf, Seed: 7, Count: count, Keys: 200}.Source()
	var done atomic.Int64
	type outcome struct {
		result load.Result
		err    error
	}
	running := start(t, binary, args...)
	loaded := make(chan outcome, 1)
	go func() {
		result, err := load.Run(t.Context(), load.Options{
			Target: "http://" + addr, Source: source, Verify: true, Retries: 200,
			Progress: func(n int) { done.Add(int64(n)) },
		})
		loaded <- outcome{result, err}
	}()
	for kill := range kills {
		for done.Load() < int64(count/6*(kill+1)) && len(loaded) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if n := done.Load(); n >= int64(count) {
			t.Errorf("kill %d was after the load of %d requests", kill+1, n)
		}
		_ = running.Process.Signal(syscall.SIGKILL)
		_ = running.Wait()
		running = start(t, binary, args...)
	}
	got := <-loaded
	if got.err != nil {
		t.Fatal(got.err)
	}
	if got.result.Accepted != count || got.result.Verify.Differences != 0 {
		t.Fatalf("after %d kills: %+v, verification %+v", kills, got.result, got.result.Verify)
	}
	_ = running.Process.Signal(syscall.SIGTERM)
	running.expect(t, "the stream is drained")
	if err := running.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v", err)
	}
}

func TestTakenPortIsOneLine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	code, out, text := hotshard(t, "local", "--addr", listener.Addr().String(), "--endpoint", enginetest.Endpoint(t))
	if code != exitBad || out != "" || strings.Count(text, "\n") != 1 || !strings.Contains(text, "address already in use") {
		t.Fatalf("exit %d with %q and %q, want 1 and a line about the address", code, out, text)
	}
}
