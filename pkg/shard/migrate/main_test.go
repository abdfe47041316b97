package migrate_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/wingtest"
)

func TestMain(m *testing.M) { wingtest.Main(m) }

// deployment is the tables of one test, and what reads and writes them.
type deployment struct{ *wingtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{wingtest.Deploy(t)}
}
