package fold

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// lagging is the board as containers read it.
type lagging struct {
	Boards
	a *arena
}

func (l *lagging) Settings(context.Context, string, time.Time) (boards.Settings, error) {
	return boards.Settings{Size: l.a.size}, nil
}

func (l *lagging) Entries(ctx context.Context, name, period string, players []string, now time.Time) (map[string]boards.Entry, error) {
	if name != l.a.name || period != "all" {
		return l.Boards.Entries(ctx, name, period, players, now)
	}
	if !l.a.nested {
		l.a.read = players
	}
	found, err := l.Boards.Entries(ctx, name, period, players, now)
	l.a.intervene()
	return found, err
}

func (l *lagging) Top(ctx context.Context, name, period string, n int, now time.Time) ([]boards.Place, error) {
	if name != l.a.name || period != "all" {
		return l.Boards.Top(ctx, name, period, n, now)
	}
	l.a.widened++
	if !l.a.lags {
		return l.Boards.Top(ctx, name, period, n, now)
	}
	if !l.a.frozen {
		l.a.catchUp()
	}
	var places []boards.Place
	for _, s := range l.a.index {
		if s.shown {
			places = append(places, s.place)
		}
	}
	slices.SortFunc(places, board.Compare)
	l.a.intervene()
	return places[:min(n, len(places))], nil
}

// MoveRows also appends the records. At times the index throttles some moves, or the process dies after them.
func (l *lagging) MoveRows(ctx context.Context, name, period string, players []string, now time.Time) (int, error) {
	if name != l.a.name || period != "all" {
		return l.Boards.MoveRows(ctx, name, period, players, now)
	}
	l.a.intervene()
	some, why := players, error(nil)
	if l.a.faulty > 0 && l.a.random.IntN(2) == 0 {
		l.a.faulty--
		some = some[:l.a.random.IntN(len(some)+1)]
		why = []error{shard.ErrThrottled, shard.ErrUnavailable}[l.a.random.IntN(2)]
	}
	moved, err := l.Boards.MoveRows(ctx, name, period, some, now)
	for _, player := range some {
		if s := l.a.entries[player]; s.Present && l.a.rows[player] != s && err == nil {
			l.a.moved++
			l.a.written(s, s)
		}
	}
	l.a.intervene()
	return moved, errors.Join(err, why)
}

// catchUp updates some rows of the index, and all that are outdated for maxLag.
func (a *arena) catchUp() {
	for _, player := range slices.Sorted(maps.Keys(a.index)) {
		s := a.index[player]
		switch late := a.clock.Sub(s.stale) >= maxLag; {
		case s.stale.IsZero():
		case late || a.random.IntN(10) == 0:
			now := a.rows[player]
			*s = seen{place: now.Place, shown: now.Present}
		case a.random.IntN(4) == 0:
			s.shown = false // removed from the old place, and not yet at the new one
		}
	}
}

// racing returns a client that counts reads of tops, and intervenes before and after one is stored.
func (a *arena) racing(client *dynamodb.Client) *dynamodb.Client {
	stores := updateOf(schema.TopSK)
	return enginetest.Around(client, func(in any, call func() error) error {
		if get, ok := in.(*dynamodb.GetItemInput); ok && dynamo.Text(get.Key, schema.SK) == schema.TopSK {
			a.loads++
		}
		if stores(in) {
			a.intervene()
			defer a.intervene()
		}
		return call()
	})
}

// intervene changes entries, folds by another container, and lets time pass, during a fold.
func (a *arena) intervene() {
	if a.nested || a.races == 0 || a.random.IntN(3) > 0 {
		return
	}
	a.nested = true
	a.races--
	if a.slow && a.random.IntN(3) == 0 { // the fold is so slow that another recheck is due
		a.pass(recheck + time.Second)
		a.task()
	}
	if len(a.read) > 0 && a.random.IntN(2) == 0 {
		a.outdate(a.read[a.random.IntN(len(a.read))])
	} else {
		for range 1 + a.random.IntN(3) {
			a.write()
		}
		a.turn()
	}
	a.nested = false
}

// outdate changes a player's entry, usually to a lower place, and folds that.
func (a *arena) outdate(player string) {
	if s := a.entries[player]; s.Present && a.random.IntN(4) > 0 {
		s.Present = false
		a.put(s)
	} else {
		a.change(player)
	}
	i := a.stream(player)
	for tries := 0; a.done[i] < len(a.streams[i]) && tries < 3; tries++ {
		a.deliver(i, a.done[i], len(a.streams[i]))
	}
}
