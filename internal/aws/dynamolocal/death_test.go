package dynamolocal

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/lane"
)

func TestDeadEngineHasError(t *testing.T) {
	t.Parallel()
	lane.NeedsEngine(t)
	e, err := StartEngine(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Err(); err != nil {
		t.Errorf("a running engine has the error %v", err)
	}
	if err := e.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") || !strings.Contains(err.Error(), "Initializing") {
		t.Errorf("error is %v", err)
	}
	if err := e.Stop(); err != nil {
		t.Errorf("stopping it: %v", err)
	}
}
