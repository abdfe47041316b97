package boards_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestForeignItemsAreTakenOver: what somebody else put where a board's settings
// belong, and that says nothing, is in nobody's way.
func TestForeignItemsAreTakenOver(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	pk, sk := schema.SettingsKey("b")
	d.Foreign(t, pk, sk)
	rankings := d.boards(d.Client, nil)
	submit(t, rankings, "b", wingtest.Later, "ann 1")
	if s, err := rankings.Settings(wingtest.Within(t), "b", wingtest.Later); err != nil || s.Mode != boards.Best || s.Size != schema.DefaultBoardSize {
		t.Errorf("%+v, %v", s, err)
	}
}
