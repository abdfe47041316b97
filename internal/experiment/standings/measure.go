package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
)

// rig is a filled board, and a meter before what reads it.
type rig struct {
	*game
	names  schema.Names
	access string
	db     *dynamodb.Client
	meter  *limiter.Limiter
	folder *rollup.Handler
	api    handler
}

func measure(ctx context.Context, w io.Writer, endpoint string, store *sortedSet, players int) error {
	r, err := newRig(ctx, endpoint, players)
	if err != nil {
		return err
	}
	if err := store.fill(r.game); err != nil {
		return err
	}
	metered := local.DynamoDB(endpoint, r.access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: r.meter} })
	naive := scatter{metered, r.names.Items}
	fresh, err := r.freshness(ctx, endpoint, naive, store)
	if err != nil {
		return fmt.Errorf("freshness: %w", err)
	}
	for i, way := range []way{r.api, naive, store} {
		if err := r.ask(ctx, w, []string{"hotshard", "scatter", "redis"}[i], way, fresh[i]); err != nil {
			return err
		}
	}
	_, err = r.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &r.names.Items})
	return err
}

func newRig(ctx context.Context, endpoint string, players int) (*rig, error) {
	r := &rig{game: newGame(players), names: schema.NamesFor("standings-"), access: "s" + rand.Text()}
	r.db = local.DynamoDB(endpoint, r.access)
	if err := local.CreateTables(ctx, r.db, r.names); err != nil {
		return nil, err
	}
	if err := r.stream(ctx, false); err != nil { // the engine slows down with each record of a stream
		return nil, err
	}
	if err := settle(ctx, r.db, r.names); err != nil {
		return nil, err
	}
	if err := r.game.fill(ctx, r.db, r.names.Items); err != nil {
		return nil, err
	}
	var err error
	quiet := slog.New(slog.DiscardHandler)
	settings := rollup.Settings{ItemsTable: r.names.Items, RollupsTable: r.names.Rollups, ShardMapTable: r.names.ShardMap, BoardRecheck: time.Minute}
	if r.folder, err = rollup.New(settings, r.db, quiet); err != nil {
		return nil, err
	}
	if err := r.game.fold(ctx, r.folder); err != nil {
		return nil, err
	}
	if r.meter, err = limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 100_000, Base: local.Transport()}); err != nil {
		return nil, err
	}
	metered := local.DynamoDB(endpoint, r.access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: r.meter} })
	service, err := query.New(query.Settings{
		ItemsTable: r.names.Items, RollupsTable: r.names.Rollups, ShardMapTable: r.names.ShardMap,
		Deadline: 20 * time.Second, DefaultSpan: time.Hour,
	}, metered)
	if err != nil {
		return nil, err
	}
	r.api = handler{httpapi.New(quiet, query.Routes(service))}
	return r, nil
}

func (r *rig) stream(ctx context.Context, on bool) error {
	spec := &types.StreamSpecification{StreamEnabled: &on}
	if on {
		spec.StreamViewType = types.StreamViewTypeNewAndOldImages
	}
	_, err := r.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &r.names.Items, StreamSpecification: spec})
	return err
}

func pin(ctx context.Context, db *dynamodb.Client, names schema.Names) error {
	changer := shardmap.NewChanger(db, shardmap.New(db, names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	key := schema.BaseKey{Type: schema.Board, Name: name}.String()
	_, err := changer.Pin(ctx, key, shards, shardmap.Note{By: "standings", Why: "measurement"}, time.Now())
	return err
}

// asked is how many calls are timed: fewer of those that take long.
const (
	asked   = 500
	minimum = 10
	budget  = 20 * time.Second
)

// timed makes calls until there are enough, or the time is up.
func timed(call func(n int) error) (times []time.Duration, err error) {
	for begin := time.Now(); len(times) < asked && (len(times) < minimum || time.Since(begin) < budget); {
		began := time.Now()
		if err := call(len(times)); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times, nil
}

// ask prints a line for each of the two questions.
func (r *rig) ask(ctx context.Context, w io.Writer, name string, of way, fresh []time.Duration) error {
	if err := of.first(ctx, r.game); err != nil { // the connection, and the view of the shard map
		return fmt.Errorf("%s: the first: %w", name, err)
	}
	r.meter.Reset()
	times, err := timed(func(int) error { return of.first(ctx, r.game) })
	if err != nil {
		return fmt.Errorf("%s: the first: %w", name, err)
	}
	r.print(w, name, "first", times, "0 | 0 | 0", fmt.Sprintf("%.0f ms | %.0f ms", millis(fresh, 0.5), millis(fresh, 1)))
	random := mathrand.New(mathrand.NewPCG(2, 0))
	var stated []int64
	var off int64
	r.meter.Reset()
	times, err = timed(func(int) error {
		i := random.IntN(len(r.scores))
		rank, margin, err := of.rank(ctx, r.game, i)
		miss := max(rank-int64(r.rank[i]+1), int64(r.rank[i]+1)-rank)
		if err == nil && miss > margin {
			err = fmt.Errorf("rank of player %d: %d +- %d, and it is %d", i, rank, margin, r.rank[i]+1)
		}
		stated, off = append(stated, margin), max(off, miss)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: ranks: %w", name, err)
	}
	slices.Sort(stated)
	r.print(w, name, "rank", times, fmt.Sprintf("%d | %d | %d", stated[len(stated)/2], stated[len(stated)-1], off), "|")
	return nil
}

func (r *rig) print(w io.Writer, name, call string, times []time.Duration, errors, fresh string) {
	fmt.Fprintf(w, "| %d | %s | %s | %d | %.2f ms | %.2f ms | %.1f | %s | %s |\n", len(r.scores), name, call, len(times),
		millis(times, 0.5), millis(times, 0.99), r.meter.Stats().ReadUnits/float64(len(times)), errors, fresh)
}

// millis is a quantile of sorted times.
func millis(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))]) / float64(time.Millisecond)
}
