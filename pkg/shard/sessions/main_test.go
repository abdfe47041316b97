package sessions_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/wingtest"
)

func TestMain(m *testing.M) { wingtest.Main(m) }
