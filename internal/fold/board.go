package fold

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// lifetime is the time until which the items of a board's period are kept. The zero value is an
// unknown lifetime.
type lifetime struct {
	known bool
	end   time.Time // zero for ever
}

// with returns the longer of two lifetimes.
func (l lifetime) with(other lifetime) lifetime {
	if !l.known || other.known && !l.end.IsZero() && (other.end.IsZero() || other.end.After(l.end)) {
		return other
	}
	return l
}

// lifetimeOf returns the lifetime that the digits of a TTL attribute give. Without the attribute an
// item is kept for ever.
func lifetimeOf(digits string, has bool) (lifetime, error) {
	if !has {
		return lifetime{known: true}, nil
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return lifetime{}, fmt.Errorf("its %s is %.40q, not a whole number", schema.ExpiresAt, digits)
	}
	return lifetime{true, time.Unix(seconds, 0)}, nil
}

// turn is the change that a record makes to a player's entry.
type turn struct {
	state    board.State
	from, to *boards.Score // the entry's score before and after; nil if there was no entry
	was, is  bool          // whether the entry's row in the index was outdated before, and is after
	lifetime lifetime
	sequence string // the record's sequence number
	place    string // the sequence number with leading zeros: text order is number order
}

// boardNews has the changes that a batch makes to the summaries of a board's period.
type boardNews struct {
	parts.Period
	turns    []turn   // in stream order
	raised   []string // sequence numbers of records that raised the board's size
	lifetime lifetime
	damaged  map[string]error // by player: why the entry can't be read
}

// own returns a copy whose lifetime and damaged entries the caller may change.
func (s *boardNews) own() *boardNews {
	own := *s
	return &own
}

// miss records why a player's entry can't be read; nil if it can be read.
func (s *boardNews) miss(player string, why error) {
	if why == nil {
		delete(s.damaged, player)
		return
	}
	if s.damaged == nil {
		s.damaged = map[string]error{}
	}
	s.damaged[player] = why
}

// partly is the error of a fold that folded all records except some.
type partly struct {
	error
	sequences []string
}

func (p *partly) Unwrap() error { return p.error }

// parked returns an error for the records of players whose entries can't be read, or nil.
func (s *boardNews) parked() error {
	var p partly
	for _, t := range s.turns {
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

// sequences returns the sequence numbers of the turns' records.
func (s *boardNews) sequences() []string {
	list := make([]string, len(s.turns))
	for i, t := range s.turns {
		list[i] = t.sequence
	}
	return list
}

// newest returns the latest state of each player.
func (s *boardNews) newest() []board.State {
	index := map[string]int{}
	var list []board.State
	for _, t := range s.turns {
		at, ok := index[t.state.Player]
		if !ok {
			at = len(list)
			index[t.state.Player] = at
			list = append(list, t.state)
		}
		list[at] = t.state
	}
	return list
}

// boardsNews collects the changes of one batch by board and period.
type boardsNews map[parts.Period]*boardNews

// of returns the news of a board's period, and creates it if needed.
func (s boardsNews) of(name, period string) *boardNews {
	key := parts.Period{Board: name, Label: period}
	if s[key] == nil {
		s[key] = &boardNews{Period: key}
	}
	return s[key]
}

// add adds a record of an entry, or of a board's settings with a larger size. It returns an error
// for a record that can't be folded.
func (s boardsNews) add(r *ddbstream.Record) error {
	if name, ok := raised(r); ok {
		for _, period := range []boards.Period{boards.AllTime, boards.Daily, boards.Weekly} {
			of := s.of(name, period.Label(r.Created))
			of.raised = append(of.raised, string(r.Sequence))
		}
		return nil
	}
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	name, period, player, ok := schema.ParseEntryKey(pk, sk)
	if !ok || r.Expired { // the whole period expires with its entries
		return nil
	}
	t, err := turnOf(r, player)
	if err != nil {
		return fmt.Errorf("reading an entry of board %q: %w", name, err)
	}
	of := s.of(name, period)
	of.turns = append(of.turns, t)
	of.lifetime = of.lifetime.with(t.lifetime)
	return nil
}

// jobs returns two folds for each board's period: into its top, and into the stream shard's
// fragment of its histogram.
func (s boardsNews) jobs(d *delivery) (jobs []job) {
	for _, s := range s {
		pk := s.PK()
		if len(s.turns) > 0 {
			jobs = append(jobs,
				job{pk, func(ctx context.Context) error { return d.tops.fold(ctx, s) }, s.sequences},
				job{pk, func(ctx context.Context) error {
					added, err := d.cells.fold(ctx, s, d.batch.ShardID)
					if err != nil {
						return err
					}
					return d.tops.noteFolded(ctx, s, added)
				}, s.sequences})
		}
		if deferred := s.deferred(); len(deferred) > 0 {
			jobs = append(jobs, job{pk, func(ctx context.Context) error { return d.tops.noteDeferred(ctx, s, deferred, d.batch.ShardID) }, s.sequences})
		}
		if len(s.raised) > 0 {
			raised := func() []string { return s.raised }
			jobs = append(jobs, job{pk, func(ctx context.Context) error { return d.tops.note(ctx, s) }, raised})
		}
	}
	return jobs
}

// boardTarget returns the period that an entry is ranked in.
func boardTarget(_ Rules, pk, sk string) (t schema.Target, ok bool) {
	name, period, _, ok := schema.ParseEntryKey(pk, sk)
	return parts.Period{Board: name, Label: period}.Target(), ok
}

func boardStored(pk, sk string) (schema.Target, bool) {
	if p, _, ok := parts.PeriodOf(pk, sk); ok {
		return p.Target(), true
	}
	t, err := schema.ParseTarget(pk)
	return t, err == nil && (sk == schema.TopSK || sk == schema.SumSK)
}

// noteMissed notes the top of a target that lacks records, so that the task rechecks it.
func noteMissed(ctx context.Context, d *delivery, t schema.Target) error {
	return d.tops.note(ctx, &boardNews{Period: parts.Period{Board: t.Base.Name, Label: t.Period}})
}

// raised returns the board whose size a record raises.
func raised(r *ddbstream.Record) (name string, ok bool) {
	pk, _ := r.Keys.String(schema.PK)
	name, ok = strings.CutPrefix(pk, schema.BoardPrefix)
	if !ok || r.Name != ddbstream.Modify {
		return "", false
	}
	size := func(image ddbstream.Image) int {
		digits, _ := image.Number(schema.BoardSize)
		n, _ := strconv.Atoi(digits) // 0 without one
		return n
	}
	return name, size(r.New) > size(r.Old)
}

func turnOf(r *ddbstream.Record, player string) (t turn, err error) {
	t.sequence = string(r.Sequence)
	if t.place, err = parts.Sequence(t.sequence); err != nil {
		return t, err
	}
	newest := r.New
	if r.Name == ddbstream.Remove {
		newest = r.Old
	}
	var late bool
	if t.state, t.lifetime, late, err = stateOfEntry(newest.Number, player); err != nil {
		return t, err
	}
	score := t.state.Score
	switch r.Name {
	case ddbstream.Insert:
		t.to, t.is = &score, late
	case ddbstream.Modify:
		var old board.State
		if old, _, t.was, err = stateOfEntry(r.Old.Number, player); err != nil {
			return t, fmt.Errorf("before: %w", err)
		}
		t.from, t.to, t.is = &old.Score, &score, late
	default:
		t.from, t.was = &score, late
		t.state = board.State{Place: boards.Place{Player: player}, Rev: t.state.Rev}
	}
	return t, nil
}

// stateOfEntry reads an entry's attributes, all of which are numbers. late reports whether the entry's
// row in the index is outdated.
func stateOfEntry(attr func(name string) (string, bool), player string) (s board.State, l lifetime, late bool, err error) {
	score, hasScore := attr(schema.EntryScore)
	at, hasAt := attr(schema.EntryAt)
	rev, hasRev := attr(schema.EntryRev)
	rowRev, hasRowRev := attr(schema.EntryRowRev)
	if !hasScore || !hasAt || !hasRev || !hasRowRev {
		return s, l, false, errors.New("the entry lacks its score, at, rev or row_rev")
	}
	late = rev != rowRev
	s = board.State{Place: boards.Place{Player: player}, Present: true}
	if s.Score, err = boards.ParseScore(score); err != nil {
		return s, l, late, err
	}
	millis, err := strconv.ParseInt(at, 10, 64)
	if err != nil || millis < 0 {
		return s, l, late, fmt.Errorf("its at is %.40q, not a time in milliseconds", at)
	}
	if s.Rev, err = strconv.ParseInt(rev, 10, 64); err != nil || s.Rev < 0 || s.Rev > board.MaxRev {
		return s, l, late, fmt.Errorf("its rev is %.40q, not a whole number up to %d", rev, int64(board.MaxRev))
	}
	s.At = time.UnixMilli(millis).UTC()
	digits, has := attr(schema.ExpiresAt)
	l, err = lifetimeOf(digits, has)
	return s, l, late, err
}

// cellsFolder folds entries' scores into the fragments of their boards' histograms. Each change of
// an entry is one record, so the guard is that of event rollups. Once all records are folded, the
// fragments together count each entry once.
type cellsFolder struct {
	*parts.Folder[board.Histogram]
	limit int // cells of a fragment
}

func newCellsFolder(client Client, settings Settings, now func() time.Time) *cellsFolder {
	return &cellsFolder{parts.NewHistograms(client, settings.RollupsTable, now).Folder(client), board.MaxCells}
}

func (f *cellsFolder) fold(ctx context.Context, s *boardNews, streamShard string) (added bool, err error) {
	records := make([]parts.Record[board.Histogram], len(s.turns))
	for i, t := range s.turns {
		records[i] = parts.Record[board.Histogram]{Sequence: t.place, Apply: func(h *board.Histogram) {
			if t.from != nil {
				h.AddScore(*t.from, -1)
			}
			if t.to != nil {
				h.AddScore(*t.to, 1)
			}
			if t.was != t.is {
				h.AddLate(map[bool]int64{false: -1, true: 1}[t.is])
			}
			h.Limit(f.limit)
		}}
	}
	// A fold writes one item, however many records it has. So a fold that waits while its partition
	// throttles lowers the load, and the batch's other summaries need no redelivery.
	_ = dynamo.Persist(ctx, func(ctx context.Context) error {
		added, err = f.Fold(ctx, s.Key(), streamShard, s.lifetime.end, records)
		return err
	})
	return added, err
}
