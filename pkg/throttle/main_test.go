package throttle_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

// TestMain fails if a test of this package leaks a goroutine.
func TestMain(m *testing.M) { libtest.Main(m) }
