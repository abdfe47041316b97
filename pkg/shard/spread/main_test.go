package spread_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

func TestMain(m *testing.M) { libtest.Main(m) }
