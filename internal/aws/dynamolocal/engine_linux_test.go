package dynamolocal_test

import (
	"bufio"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestEngineDiesWithItsParent checks that a killed process leaves no engine.
func TestEngineDiesWithItsParent(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), engineHolder+"=1")
	stdin, err := holder.StdinPipe() // stays open, so that only the kill ends the process
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	endpoint, urlErr := url.Parse(strings.TrimSpace(line))
	if err := errors.Join(err, urlErr); err != nil || !listens(endpoint.Host) {
		t.Fatalf("the engine was not started: %q, %v", line, err)
	}
	require.NoError(t, holder.Process.Kill())
	holder.Wait()
	for end := time.Now().Add(30 * time.Second); listens(endpoint.Host); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the engine still listens 30 s after its parent was killed")
		}
	}
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
