package migrate_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

func TestMain(m *testing.M) { libtest.Main(m) }

// deployment has a test's tables, client and shard map.
type deployment struct{ *libtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{libtest.Deploy(t)}
}
