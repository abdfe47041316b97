package rebuild

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// firstPeriod is before every period of every board.
var firstPeriod = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Player deletes one player's entries in all periods of a board, and waits until no top has the player.
// The board's other entries stay. For each day and week since 2025 it reads one entry and one top. An
// absent one costs a read unit, and a top costs more.
func (e *Eraser) Player(ctx context.Context, name, player string) (*Erased, error) {
	t := &departure{Eraser: e, tally: newTally(), board: name, player: player}
	if err := t.erase(ctx); err != nil {
		return &t.report, fmt.Errorf("deleting player %q of board %q: %w", player, name, err)
	}
	return &t.report, nil
}

// departure is the deletion of one player of a board.
type departure struct {
	*Eraser
	*tally
	board, player string
}

func (t *departure) erase(ctx context.Context) error {
	labels, err := t.labels()
	if err != nil {
		return err
	}
	entries, err := t.entries(ctx, labels)
	if err != nil {
		return err
	}
	if t.options.DryRun {
		t.deleted(Entries, len(entries))
		return nil
	}
	for _, k := range entries {
		if _, err := t.remove(ctx, t.o.Names.Items, k); err != nil {
			return err
		}
		t.deleted(Entries, 1)
	}
	return t.awaitTops(ctx, labels)
}

// labels returns the labels of all periods up to tomorrow's, each once.
func (t *departure) labels() (list []string, err error) {
	periods, err := t.checker.Targets(schema.BaseKey{Type: schema.Board, Name: t.board}, Range{From: firstPeriod, To: t.o.Now().Add(24 * time.Hour)})
	for _, p := range periods {
		list = append(list, p.Period)
	}
	return list, err
}

// entries returns the keys of a player's entries that exist.
func (t *departure) entries(ctx context.Context, labels []string) (found []itemKey, err error) {
	var keys []item
	for _, label := range labels {
		keys = append(keys, dynamo.Key(schema.EntryKey(t.board, label, t.player)))
	}
	err = t.batchGet(ctx, t.o.Names.Items, keys, func(it item) {
		found = append(found, keyOf(it))
	})
	return found, err
}

const maxBatchGet = 100 // items in memory at a time; a top has up to 300 KB

// batchGet reads items with consistent reads, and calls seen for those that exist.
func (e *Eraser) batchGet(ctx context.Context, table string, keys []item, seen func(item)) error {
	for chunk := range slices.Chunk(keys, maxBatchGet) {
		list, err := dynamo.BatchGet(ctx, e.client, table, chunk, true)
		if err != nil {
			return fmt.Errorf("reading %d items of %s: %w", len(chunk), table, err)
		}
		for _, it := range list {
			seen(it)
		}
		e.options.Progress(len(chunk))
	}
	return nil
}

// awaitTops waits until the aggregator has folded the removals, no matter which process deleted the
// entries. It notes tops that keep the player, so that the aggregator rechecks them.
func (t *departure) awaitTops(ctx context.Context, labels []string) (err error) {
	for deadline := t.o.Now().Add(t.o.Wait); ; {
		if labels, err = t.holding(ctx, labels); err != nil {
			return err
		}
		if len(labels) == 0 || !t.o.Now().Before(deadline) {
			break
		}
		if err := t.pause(ctx); err != nil {
			return err
		}
	}
	for _, label := range labels {
		if err := t.reportHolding(ctx, label); err != nil {
			return err
		}
	}
	return nil
}

// reportHolding adds a top that still holds the player to the report, or the new entry.
func (t *departure) reportHolding(ctx context.Context, label string) error {
	entries, err := t.entries(ctx, []string{label})
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		t.kept("the entry of period %s, written meanwhile", label)
		return nil
	}
	t.left("the top of period %s still has the player, or can't be read: the aggregator is behind, or lost the record; it looks at the top again within minutes", label)
	return fold.NoteBoard(ctx, t.client, t.o.Names.Rollups, t.board, label, t.o.Now())
}

// holding returns the periods whose tops hold the player, or can't be read.
func (t *departure) holding(ctx context.Context, labels []string) (holding []string, err error) {
	var keys []item
	for _, label := range labels {
		keys = append(keys, dynamo.Key(schema.BoardRollupKey(t.board, label), schema.TopSK))
	}
	err = t.batchGet(ctx, t.o.Names.Rollups, keys, func(it item) {
		target, parseErr := schema.ParseTarget(dynamo.Text(it, schema.PK))
		top, topErr := parts.StoredTop(it)
		if parseErr == nil && (topErr != nil || top.Holds(t.player)) {
			holding = append(holding, target.Period)
		}
	})
	return holding, err
}
