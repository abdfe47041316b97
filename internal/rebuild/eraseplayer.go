package rebuild

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
)

// firstPeriod is before every period of every board.
var firstPeriod = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Player deletes one player's entries in all periods of a board. It reads those of all time, and of each day, week and
// month since 2025. Other players' entries stay. The aggregator removes the player from the tops within minutes.
func (e *Eraser) Player(ctx context.Context, name, player string) (*Erased, error) {
	t := newTally()
	if err := e.erasePlayer(ctx, t, name, player); err != nil {
		return &t.report, fmt.Errorf("deleting player %q of board %q: %w", player, name, err)
	}
	return &t.report, nil
}

func (e *Eraser) erasePlayer(ctx context.Context, report *tally, name, player string) error {
	periods, err := e.checker.Targets(schema.BaseKey{Type: schema.Board, Name: name}, Range{From: firstPeriod, To: e.o.Now().Add(24 * time.Hour)})
	if err != nil {
		return err
	}
	var keys []item
	for _, p := range periods {
		keys = append(keys, dynamo.Key(schema.EntryKey(name, p.Period, player)))
	}
	entries, err := dynamo.BatchGet(ctx, e.client, e.o.Names.Items, keys, true)
	if err != nil {
		return fmt.Errorf("reading the player's entries: %w", err)
	}
	for _, it := range entries {
		if err := e.eraseEntry(ctx, keyOf(it)); err != nil {
			return err
		}
		report.countDeleted(Entries, 1)
	}
	return nil
}

// eraseEntry deletes an entry. After the delete it stores a note: the boards task must recheck the top of the entry's
// period. It stores the note before the delete, too, in case this process fails in between.
func (e *Eraser) eraseEntry(ctx context.Context, k itemKey) error {
	board, period, _, _ := schema.ParseEntryKey(k.pk, k.sk) // ok, since k is an entry's key
	if err := fold.NoteBoard(ctx, e.client, e.o.Names.Rollups, board, period, e.o.Now()); err != nil {
		return err
	}
	if _, err := e.remove(ctx, e.o.Names.Items, k); err != nil {
		return err
	}
	return fold.NoteBoard(ctx, e.client, e.o.Names.Rollups, board, period, e.o.Now())
}
