package dynamolocal

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

func TestEnginePortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, err = startOnPort(t.Context(), "no java", Options{}, port)
	if want := fmt.Sprintf("port %d: the port is in use", port); !errors.Is(err, errPortInUse) || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}
