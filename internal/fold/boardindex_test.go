package fold

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
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

func (l *lagging) Top(ctx context.Context, name, period string, n int, now time.Time) ([]boards.Place, error) {
	if name != l.a.name || period != "all" {
		return l.Boards.Top(ctx, name, period, n, now)
	}
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
	slices.SortFunc(places, parts.ComparePlaces)
	return places[:min(n, len(places))], nil
}

// catchUp updates some rows of the index, and all that are outdated for maxLag.
func (a *arena) catchUp() {
	for _, player := range slices.Sorted(maps.Keys(a.index)) {
		s := a.index[player]
		switch late := a.clock.Sub(s.stale) >= maxLag; {
		case s.stale.IsZero():
		case late || a.random.IntN(10) == 0:
			now := a.entries[player]
			*s = seen{place: now.Place, shown: now.Present}
		case a.random.IntN(4) == 0:
			s.shown = false // removed from the old place, and not yet at the new one
		}
	}
}

// counting returns a client that counts reads of tops.
func (a *arena) counting(client *dynamodb.Client) *dynamodb.Client {
	return enginetest.Before(client, func(in any) error {
		if get, ok := in.(*dynamodb.GetItemInput); ok && dynamo.Text(get.Key, schema.SK) == schema.TopSK {
			a.loads++
		}
		return nil
	})
}
