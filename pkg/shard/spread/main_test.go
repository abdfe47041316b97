package spread_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

func TestMain(m *testing.M) { libtest.Main(m) }

// deployment is the tables of a test with a client and a shard map.
type deployment struct{ *libtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{libtest.Deploy(t)}
}
