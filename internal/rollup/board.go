package rollup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// lifetime is until when things that belong to a board's period are kept. The zero
// lifetime is that of none.
type lifetime struct {
	known bool
	end   time.Time // zero for ever
}

// with is the longer of two.
func (l lifetime) with(other lifetime) lifetime {
	if !l.known || other.known && !l.end.IsZero() && (other.end.IsZero() || other.end.After(l.end)) {
		return other
	}
	return l
}

// lifetimeOf reads the TTL of an item, or of its image's digits.
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

// turn is a record's news of a player's entry.
type turn struct {
	state    board.State
	from, to *boards.Score // the entry's score before and after, nil where it was not there
	lifetime lifetime
	sequence string // as the record has it
	place    string // the same with leading zeros: text order is number order
}

// boardNews is what is to be folded into the summaries of a board's period.
type boardNews struct {
	parts.Period
	turns    []turn   // in stream order
	raised   []string // sequence numbers of records that raised the board's size
	lifetime lifetime
	damaged  map[string]error // why players' entries can't be read
}

// own returns a copy whose lifetime and damages are the caller's.
func (s *boardNews) own() *boardNews {
	own := *s
	return &own
}

// miss notes that a player's entry can't be read, or that it can for nil.
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

// partly is the error of a fold that took all records but some.
type partly struct {
	error
	sequences []string
}

func (p *partly) Unwrap() error { return p.error }

// parked is the error for the records of players whose entries can't be read.
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

// sequences are those of the turns' records.
func (s *boardNews) sequences() []string {
	list := make([]string, len(s.turns))
	for i, t := range s.turns {
		list[i] = t.sequence
	}
	return list
}

// newest returns the last state of each player.
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

// boardsNews collects the entries of one batch by their boards' periods.
type boardsNews map[parts.Period]*boardNews

// of returns the news of a board's period.
func (s boardsNews) of(name, period string) *boardNews {
	key := parts.Period{Board: name, Label: period}
	if s[key] == nil {
		s[key] = &boardNews{Period: key}
	}
	return s[key]
}

// add takes in a record, if it is about an entry, or a board's settings that have a
// larger size. The error says why one can't be folded.
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
	if !ok || r.Expired { // with its entries the whole period expires
		return nil
	}
	t, err := turnOf(r, player)
	if err != nil {
		return fmt.Errorf("record %s, an entry of board %q: %w", r.Sequence, name, err)
	}
	of := s.of(name, period)
	of.turns = append(of.turns, t)
	of.lifetime = of.lifetime.with(t.lifetime)
	return nil
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
	if t.state, t.lifetime, err = stateOfEntry(newest.Number, player); err != nil {
		return t, err
	}
	score := t.state.Score
	switch r.Name {
	case ddbstream.Insert:
		t.to = &score
	case ddbstream.Modify:
		old, _, err := stateOfEntry(r.Old.Number, player)
		if err != nil {
			return t, fmt.Errorf("before: %w", err)
		}
		t.from, t.to = &old.Score, &score
	default:
		t.from = &score
		t.state = board.State{Place: boards.Place{Player: player}, Rev: t.state.Rev}
	}
	return t, nil
}

// stateOfEntry reads an entry's attributes, all of which are numbers.
func stateOfEntry(attr func(name string) (string, bool), player string) (s board.State, l lifetime, err error) {
	score, hasScore := attr(schema.EntryScore)
	at, hasAt := attr(schema.EntryAt)
	rev, hasRev := attr(schema.EntryRev)
	if !hasScore || !hasAt || !hasRev {
		return s, l, errors.New("the entry lacks its score, at or rev")
	}
	s = board.State{Place: boards.Place{Player: player}, Present: true}
	if s.Score, err = boards.ParseScore(score); err != nil {
		return s, l, err
	}
	millis, err := strconv.ParseInt(at, 10, 64)
	if err != nil || millis < 0 {
		return s, l, fmt.Errorf("its at is %.40q, not a time in milliseconds", at)
	}
	if s.Rev, err = strconv.ParseInt(rev, 10, 64); err != nil || s.Rev < 0 || s.Rev > board.MaxRev {
		return s, l, fmt.Errorf("its rev is %.40q, not a whole number up to %d", rev, int64(board.MaxRev))
	}
	s.At = time.UnixMilli(millis).UTC()
	digits, has := attr(schema.ExpiresAt)
	l, err = lifetimeOf(digits, has)
	return s, l, err
}
