package spread_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

func TestMain(m *testing.M) { libtest.Main(m) }

// deployment is a libtest.Deployment with the helpers of this package.
type deployment struct{ *libtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{libtest.Deploy(t)}
}
