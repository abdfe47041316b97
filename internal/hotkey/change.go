package hotkey

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Shards is what the controller needs of the shard map; a [*shardmap.Changer] has it.
type Shards interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Entries(ctx context.Context) ([]shardmap.Entry, error)
	Partitions() int
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	ShrinkFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	NotePartitions(ctx context.Context, n int, now time.Time) error
}

// changer makes the changes of shard counts that were decided on, as far as its setting
// allows.
type changer struct {
	settings Settings
	shards   Shards // nil for a table that is not hotshard's own
	said     once   // of keys
}

// execute makes a decided change, as far as the control setting allows.
func (c *changer) execute(ctx context.Context, j *journal, seen shardmap.Entry, d Decision) (changed bool) {
	log := j.With("key", c.settings.shown(seen.Key), "from", d.From, "to", d.To, "why", d.Why)
	if d.Action == Advise {
		log.WarnContext(ctx, "hot key not grown")
		return false
	}
	if c.settings.Control != growth.Act {
		if d.Action == Shrink && !c.said.first("would shrink "+seen.Key, strconv.Itoa(d.To)) {
			return false // said by an earlier run of the task
		}
		log.InfoContext(ctx, "shard count would change", "action", string(d.Action))
		j.events("ShardCountChangesObserved", 1)
		return false
	}
	// It goes by what was seen, so that what ingest answered meanwhile is neither answered
	// twice nor undone. The time is that of the change itself, not that of what led to it.
	change := c.shards.GrowFrom
	if d.Action == Shrink {
		change = c.shards.ShrinkFrom
	}
	entry, err := change(ctx, seen, d.To, shardmap.Note{By: "hotkeys", Why: d.Why}, j.now())
	switch {
	case err == nil:
		log.InfoContext(ctx, "shard count changed", "action", string(d.Action), "effective", entry.Effective())
		j.events("ShardCountChanges", 1)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned):
		log.InfoContext(ctx, "shard count left alone", "action", string(d.Action), "error", err)
	default:
		log.ErrorContext(ctx, "shard count not changed", "action", string(d.Action), "error", err)
		j.events("ShardCountChangeFailures", 1)
	}
	return err == nil
}
