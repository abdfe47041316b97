package boards_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestForeignSettingsAreOverwritten checks that a score overwrites an item without settings under its board's key.
func TestForeignSettingsAreOverwritten(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	enginetest.Put(t, d.Client, d.Names.Items, dynamo.Key(schema.SettingsKey("b")))
	rankings := d.boards(d.Client, nil)
	submit(t, rankings, "b", libtest.Later, "ann 1")
	if s, err := rankings.Settings(libtest.Within(t), "b", libtest.Later); err != nil || s.Mode != boards.Best || s.Size != schema.DefaultBoardSize {
		t.Errorf("Settings = %+v, %v; want the defaults", s, err)
	}
}
