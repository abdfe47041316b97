package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// boardChanges has the changes that a batch makes to the summaries of a board's period.
type boardChanges struct {
	parts.Period
	entries  []entryChange    // in stream order
	raised   []string         // sequence numbers of records that raised the board's size
	lifetime lifetime         // the longest of the entries
	damaged  map[string]error // why a player's entry can't be read, by player
}

// setDamaged stores why a player's entry can't be read; nil means that it can.
func (s *boardChanges) setDamaged(player string, why error) {
	if why == nil {
		delete(s.damaged, player)
		return
	}
	if s.damaged == nil {
		s.damaged = map[string]error{}
	}
	s.damaged[player] = why
}

// partialError is the error of a fold that folded all records except the listed ones.
type partialError struct {
	error
	sequences []string // sequence numbers of records that were not folded
}

func (p *partialError) Unwrap() error { return p.error }

// damagedErr returns a partialError for the records of players whose entries can't be read, or nil.
func (s *boardChanges) damagedErr() error {
	var p partialError
	for _, t := range s.entries {
		if why := s.damaged[t.state.Player]; why != nil {
			p.sequences = append(p.sequences, t.sequence)
			p.error = fmt.Errorf("the entry of a player of board %q, period %s: %w: %w", s.Board, s.Label, parts.ErrUnreadable, why)
		}
	}
	if p.error == nil {
		return nil
	}
	return &p
}

func (s *boardChanges) sequences() []string {
	list := make([]string, len(s.entries))
	for i, t := range s.entries {
		list[i] = t.sequence
	}
	return list
}

// newestStates returns the newest state of each player, in the order of the players' first records.
func (s *boardChanges) newestStates() []parts.EntryState {
	newest := map[string]parts.EntryState{}
	var players []string // in the order of their first records
	for _, t := range s.entries {
		if _, seen := newest[t.state.Player]; !seen {
			players = append(players, t.state.Player)
		}
		newest[t.state.Player] = t.state
	}
	list := make([]parts.EntryState, len(players))
	for i, player := range players {
		list[i] = newest[player]
	}
	return list
}

// changesByBoard collects the changes of one batch by board and period.
type changesByBoard map[parts.Period]*boardChanges

// changesOf returns the changes of a board's period, which it creates if needed.
func (s changesByBoard) changesOf(name, period string) *boardChanges {
	key := parts.Period{Board: name, Label: period}
	if s[key] == nil {
		s[key] = &boardChanges{Period: key}
	}
	return s[key]
}

// addRecord adds a record of an entry to its period, and that of a larger size in a board's settings to the periods of
// that time. It ignores deletes by TTL and other records, and returns an error if an entry's record can't be folded.
func (s changesByBoard) addRecord(r *ddbstream.Record) error {
	if name, ok := raisedBoard(r); ok {
		for _, period := range boards.Periods() {
			changes := s.changesOf(name, period.Label(r.Created))
			changes.raised = append(changes.raised, string(r.Sequence))
		}
		return nil
	}
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	name, period, player, ok := schema.ParseEntryKey(pk, sk)
	if !ok || r.Expired { // the whole period expires with its entries
		return nil
	}
	t, err := entryChangeOf(r, player)
	if err != nil {
		return fmt.Errorf("reading an entry of board %q: %w", name, err)
	}
	changes := s.changesOf(name, period)
	changes.entries = append(changes.entries, t)
	changes.lifetime = changes.lifetime.longer(t.lifetime)
	return nil
}

// jobs returns the folds into the top of each board's period and into the stream shard's fragment of
// its histogram, and the notes for the boards task.
func (s changesByBoard) jobs(d *delivery) (jobs []job) {
	for _, c := range s {
		pk := c.PK()
		if len(c.entries) > 0 {
			jobs = append(jobs,
				job{pk, func(ctx context.Context) error { return d.tops.fold(ctx, c) }, c.sequences},
				job{pk, func(ctx context.Context) error { return d.cells.fold(ctx, c, d.batch.ShardID) }, c.sequences})
		}
		if outdated := c.outdatedRows(); len(outdated) > 0 {
			jobs = append(jobs, job{pk, func(ctx context.Context) error { return d.tops.noteOutdated(ctx, c, outdated, d.batch.ShardID) }, c.sequences})
		}
		if len(c.raised) > 0 {
			raised := func() []string { return c.raised }
			jobs = append(jobs, job{pk, func(ctx context.Context) error { return d.tops.noteRecheck(ctx, c) }, raised})
		}
	}
	return jobs
}

// boardTarget returns the period that an entry is ranked in.
func boardTarget(pk, sk string) (t schema.Target, ok bool) {
	name, period, _, ok := schema.ParseEntryKey(pk, sk)
	return parts.Period{Board: name, Label: period}.Target(), ok
}

func storedBoardTarget(pk, sk string) (schema.Target, bool) {
	if p, _, ok := parts.PeriodOf(pk, sk); ok {
		return p.Target(), true
	}
	t, err := schema.ParseTarget(pk)
	return t, err == nil && sk == schema.TopSK
}

// noteMissed notes the top of a target that lacks records, so that the boards task rechecks it.
func noteMissed(ctx context.Context, d *delivery, t schema.Target) error {
	return d.tops.noteRecheck(ctx, &boardChanges{Period: parts.Period{Board: t.Base.Name, Label: t.Period}})
}

// cellsFolder folds the merits of entries into the fragments of their boards' histograms. Each change of an entry is one
// record, so sequence numbers prevent a second fold. When all records are folded, the sum of the fragments counts each
// entry once.
type cellsFolder struct {
	*parts.Folder[parts.Histogram]
	limit int // cells of a fragment
}

func newCellsFolder(client Client, settings Settings, now func() time.Time) *cellsFolder {
	return &cellsFolder{parts.NewHistograms(client, settings.RollupsTable, now).Folder(client), parts.MaxCells}
}

func (f *cellsFolder) fold(ctx context.Context, s *boardChanges, streamShard string) (err error) {
	records := make([]parts.Record[parts.Histogram], len(s.entries))
	for i, t := range s.entries {
		records[i] = parts.Record[parts.Histogram]{Sequence: t.paddedSequence, Apply: func(h *parts.Histogram) {
			if t.from != nil {
				h.AddMerit(*t.from, -1)
			}
			if t.to != nil {
				h.AddMerit(*t.to, 1)
			}
			switch {
			case t.isOutdated && !t.wasOutdated:
				h.AddLate(1)
			case t.wasOutdated && !t.isOutdated:
				h.AddLate(-1)
			}
			h.Limit(f.limit)
		}}
	}
	// Waiting for a throttled partition is better than a redelivery, which folds the batch into all its summaries again.
	_ = dynamo.Persist(ctx, func(ctx context.Context) error {
		err = f.Fold(ctx, s.Key(), streamShard, s.lifetime.end, records)
		return err
	})
	return err // without the kind that Persist adds
}
