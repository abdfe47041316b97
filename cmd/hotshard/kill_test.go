package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
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

// process is a hotshard local that the test may kill.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// start starts hotshard local, and kills it after the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"local"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p := &process{cmd, bufio.NewScanner(out)}
	p.expect(t, "API docs")
	return p
}

// expect reads lines up to one with this text, and kills the process if it doesn't print one within three minutes.
func (p *process) expect(t *testing.T, text string) {
	t.Helper()
	defer time.AfterFunc(3*time.Minute, func() { _ = p.Process.Kill() }).Stop()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("hotshard local ended without the line %q", text)
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
	addr := freeAddr(t)
	args := []string{
		"--addr", addr, "--endpoint", enginetest.Endpoint(t), "--prefix", enginetest.Prefix("killed"),
	}
	source := load.Synthetic{Workload: load.Zipf, Seed: 7, Count: count, Keys: 200}.Source()
	var done atomic.Int64
	type outcome struct {
		result load.Result
		err    error
	}
	running := start(t, args...)
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
		running = start(t, args...)
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
