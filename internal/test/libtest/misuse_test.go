package libtest_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/spread"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// unreachable returns a client whose calls all fail. A misused function makes no call.
func unreachable() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "eu-west-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1})
}

// errorOf returns the error of a call with one other result.
func errorOf[T any](_ T, err error) error { return err }

// calls returns functions of all packages with this client, shard map, name and time, and otherwise valid arguments.
func calls(db *dynamodb.Client, shards *shardmap.Map, name string, now time.Time) map[string]func(context.Context) error {
	counter, summaries := counters.NewWriter(db, "t", shards, counters.Options{}), counters.NewSummaries(db, "t", "r", shards)
	board, session := boards.New(db, "t", shards, boards.Options{}), sessions.New(db, "t", shards, sessions.Options{})
	limiter, limit := limits.New(db, "t", shards, limits.Options{}), limits.Limit{Key: name, Max: 1, Window: time.Second}
	hits := []limits.Hits{{Limit: limit, N: 1}}
	writer, reader := events.NewWriter(db, "t", shards, events.Options{}), events.NewReader(db, "t", shards)
	spreads, changer := spread.NewReader(db, "t", shards), shardmap.NewChanger(db, shards, shardmap.ChangerOptions{})
	lease, scores := sessions.Lease{Group: name, ID: "i", TTL: time.Minute}, []boards.PlayerScore{{Player: "p"}}
	own := table.Table{Client: db, Name: "t", PartitionKey: "p", SortKey: "s", Shards: table.Fixed(2), Layout: table.RandomSuffix{}}
	if shards.Check() != nil {
		own.Shards = shards
	}
	other := own
	other.Layout, other.Name = table.CalculatedSuffix{}, "o"
	tally := table.Tally{Client: db, Table: "t", PartitionKey: "p", Value: "v", Shards: own.Shards}
	item := table.Item{"p": libtest.Str(name), "s": libtest.Str("1")}
	calls := map[string]func(context.Context) error{
		"Map.Lookup":              func(ctx context.Context) error { return errorOf(shards.Lookup(ctx, name, now)) },
		"Map.Current":             func(ctx context.Context) error { return errorOf(shards.Current(ctx, name)) },
		"Changer.Pin":             func(ctx context.Context) error { return errorOf(changer.Pin(ctx, name, 2, libtest.Note, now)) },
		"counters.Writer.Add":     func(ctx context.Context) error { return counter.Add(ctx, name, 1, now) },
		"counters.Reader.Sum":     func(ctx context.Context) error { return errorOf(counters.NewReader(db, "t", shards).Sum(ctx, name)) },
		"counters.Summaries.Read": func(ctx context.Context) error { return errorOf(summaries.Read(ctx, []string{"a", name}, now)) },
		"events.Writer.Put": func(ctx context.Context) error {
			return errors.Join(writer.Put(ctx, []events.Event{{Entity: name, ID: "i", Time: now}}, now)...)
		},
		"events.Writer.Put,id": func(ctx context.Context) error {
			return errors.Join(writer.Put(ctx, []events.Event{{Entity: "e", ID: name, Time: now}}, now)...)
		},
		"events.Reader.Get":    func(ctx context.Context) error { return errorOf(reader.Get(ctx, name, "i", now, now)) },
		"events.Reader.Query":  func(ctx context.Context) error { return errorOf(reader.Query(ctx, events.Range{Entity: name}, now)) },
		"boards.Boards.Submit": func(ctx context.Context) error { return errors.Join(board.Submit(ctx, name, scores, now)...) },
		"boards.Boards.Submit,player": func(ctx context.Context) error {
			return errors.Join(board.Submit(ctx, "b", []boards.PlayerScore{{Player: name}}, now)...)
		},
		"boards.Boards.SubmitTransact": func(ctx context.Context) error { return errorOf(board.SubmitTransact(ctx, name, scores, now, now)) },
		"boards.Boards.Configure":      func(ctx context.Context) error { return board.Configure(ctx, name, boards.Settings{}) },
		"boards.Boards.Settings":       func(ctx context.Context) error { return errorOf(board.Settings(ctx, name, now)) },
		"boards.Reader.Entry":          func(ctx context.Context) error { return errorOf(board.Entry(ctx, "b", "all", name, now)) },
		"boards.Reader.Top":            func(ctx context.Context) error { return errorOf(board.Top(ctx, name, "all", 3, now)) },
		"sessions.Store.Put":           func(ctx context.Context) error { return errorOf(session.Put(ctx, lease, now)) },
		"sessions.Store.PutTransact":   func(ctx context.Context) error { _, _, err := session.PutTransact(ctx, lease, now); return err },
		"sessions.Store.End":           func(ctx context.Context) error { return session.End(ctx, "g", name, now) },
		"sessions.Reader.Get":          func(ctx context.Context) error { return errorOf(session.Get(ctx, name, "i", now)) },
		"sessions.Reader.Active":       func(ctx context.Context) error { return errorOf(session.Active(ctx, name, now)) },
		"limits.Limiter.Hit":           func(ctx context.Context) error { return errorOf(limiter.Hit(ctx, limit, now)) },
		"limits.Limiter.HitN":          func(ctx context.Context) error { return errorOf(limiter.HitN(ctx, limit, 1, now)) },
		"limits.Limiter.HitAll":        func(ctx context.Context) error { return errorOf(limiter.HitAll(ctx, hits, now)) },
		"limits.Limiter.HitTransact":   func(ctx context.Context) error { _, _, err := limiter.HitTransact(ctx, hits, now); return err },
		"spread.Reader.Events": func(ctx context.Context) error {
			return errorOf(spreads.Events(ctx, name, now, now.Add(time.Hour), now))
		},
		"spread.Reader.Board":   func(ctx context.Context) error { return errorOf(spreads.Board(ctx, name, "all", now)) },
		"spread.Reader.Counter": func(ctx context.Context) error { return errorOf(spreads.Counter(ctx, name, time.Millisecond, now)) },
		"table.Tally.Add":       func(ctx context.Context) error { return tally.Add(ctx, name, 1, now) },
		"table.Tally.AddAll":    func(ctx context.Context) error { return tally.AddAll(ctx, name, map[string]int64{"v": 1}, now) },
		"table.Tally.Sums":      func(ctx context.Context) error { return errorOf(tally.Sums(ctx, []string{name}, []string{"v"}, now)) },
		"table.Tally.Sum":       func(ctx context.Context) error { return errorOf(tally.Sum(ctx, []string{name}, now)) },
	}
	for what, t := range map[string]*table.Table{"table.Table": &other, "table.Table at random": &own} {
		calls[what+".Put"] = func(ctx context.Context) error { return t.Put(ctx, item, now) }
		calls[what+".Delete"] = func(ctx context.Context) error { return t.Delete(ctx, item, now) }
		calls[what+".Get"] = func(ctx context.Context) error { return errorOf(t.Get(ctx, item, now)) }
		calls[what+".Page"] = func(ctx context.Context) error { return errorOf(t.Page(ctx, name, table.Span{}, now)) }
	}
	return calls
}

// unnamed returns functions that take a time and no name, and whose clients and maps may not be nil.
func unnamed(now time.Time) map[string]func(context.Context) error {
	shards, applier := libtest.EmptyMap(), once.New(unreachable(), "t", once.Options{})
	build := func(context.Context) ([]shardmap.Write, error) { return nil, nil }
	return map[string]func(context.Context) error{
		"Map.Since":           func(ctx context.Context) error { return errorOf(shards.Since(ctx, now, now)) },
		"Map.Load":            func(ctx context.Context) error { return shards.Load(ctx, now) },
		"once.Applier.Do":     func(ctx context.Context) error { return errorOf(applier.Do(ctx, once.Call{Key: "k"}, now, build)) },
		"once.Applier.Before": func(ctx context.Context) error { return errorOf(applier.Before(ctx, once.Call{Key: "k"}, now)) },
	}
}

// TestZeroTimes checks that the zero time is ErrMisused, and no other time is.
func TestZeroTimes(t *testing.T) {
	all := func(now time.Time) map[string]func(context.Context) error {
		list := calls(unreachable(), libtest.EmptyMap(), "a", now)
		maps.Copy(list, unnamed(now))
		for _, timeless := range []string{"Map.Current", "Changer.Pin", "counters.Reader.Sum", "boards.Boards.Configure"} {
			delete(list, timeless)
		}
		return list
	}
	for name, call := range all(time.Time{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := call(ctx); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("at the zero time: %v, want ErrMisused", err)
			}
			if err := all(libtest.Later)[name](ctx); errors.Is(err, shard.ErrMisused) && name != "table.Table at random.Get" {
				t.Errorf("at %v: %v", libtest.Later, err)
			}
		})
	}
}

// TestTimesWithoutAForm checks that an event whose time does not fit in a sort key is ErrMisused.
func TestTimesWithoutAForm(t *testing.T) {
	writer := events.NewWriter(unreachable(), "t", libtest.EmptyMap(), events.Options{})
	for _, at := range []time.Time{time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if _, err := writer.PutTransact(t.Context(), events.Event{Entity: "e", ID: "i", Time: at}, time.Date(10_001, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%v: %v, want ErrMisused", at, err)
		}
	}
}

// TestNothingIsGiven checks that an empty name, a nil client and a nil map are ErrMisused. None panics, in any goroutine.
func TestNothingIsGiven(t *testing.T) {
	for what, list := range map[string]map[string]func(context.Context) error{
		"an empty name":          calls(unreachable(), libtest.EmptyMap(), "", libtest.Later),
		"a nil client":           calls(nil, shardmap.New(nil, "m", shardmap.Options{}), "a", libtest.Later),
		"a nil map":              calls(unreachable(), nil, "a", libtest.Later),
		"a map without a client": calls(unreachable(), shardmap.New(nil, "m", shardmap.Options{}), "a", libtest.Later),
	} {
		for name, call := range list {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if err := call(ctx); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%s: %s: %v, want ErrMisused", what, name, err)
			}
			cancel()
		}
	}
	changer := shardmap.NewChanger(unreachable(), nil, shardmap.ChangerOptions{})
	for name, err := range map[string]error{
		"Changer.Entries": errorOf(changer.Entries(t.Context())), "Changer.StoreSnapshot": changer.StoreSnapshot(t.Context(), libtest.Later),
		"setup.Create": setup.Create(t.Context(), nil, setup.WithPrefix("a-")),
	} {
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("a nil map or client: %s: %v, want ErrMisused", name, err)
		}
	}
}
