package boards

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Folds measures what the aggregator's folds of one hot leaderboard cost: the write units
// of its top and its histogram, the updates of the top that are refused because several
// stream shards fold into it, and what is read.
//
// Entries are written to Amazon's own engine, and their records handed to one container
// for each stream shard: to all at the same time, which is the worst that can be, or
// spread over a batching window of a second.
var Folds = rig.Program{Name: "boardfolds", About: "what folds of a hot leaderboard cost", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	batches := f.Int("batches", 100, "of each setting; 20 or more")
	return func(ctx context.Context, r *rig.Run) error {
		fmt.Fprintf(r, foldsHead, folded, batchSize)
		for _, s := range settings() {
			s.batches = *batches
			if err := s.measure(ctx, r, r.Endpoint); err != nil {
				return fmt.Errorf("size %d, %d stream shards: %w", s.size, s.streams, err)
			}
		}
		return nil
	}
}}

const (
	folded    = 5000 // players
	batchSize = 50
)

const foldsHead = `%d players; each record is a player's new score, drawn anew below 1,000,000; %d records a
batch; figures are per batch. A tenth of the records are of the first in rank ("busy
top"), or no more than chance has it. "refused" are updates of the top that another
stream shard's fold was faster than; they cost what the update costs. A fold whose updates
are refused too often leaves the top to a task, which is run in the end. Read units:
of the top itself, of entries, of the index. Milliseconds are those of the engine on
this machine, which all containers share.

| size | top | stream shards | batches | updates of the top | refused | write units: top | of that refused | histogram | read units: top | entries | index | ms p50 | p99 |
| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// setting is one line.
type setting struct {
	size    int
	busy    bool
	streams int
	spread  time.Duration // over which the batches of a round are handed out
	batches int
}

func settings() (list []setting) {
	for _, size := range []int{100, 1000} {
		for _, busy := range []bool{false, true} {
			for _, streams := range []int{1, 4, 20} {
				list = append(list, setting{size: size, busy: busy, streams: streams})
				if streams > 1 {
					list = append(list, setting{size: size, busy: busy, streams: streams, spread: time.Second})
				}
			}
		}
	}
	return list
}

// tally is what all containers did.
type tally struct {
	mu         sync.Mutex
	top, cells updates
	times      []time.Duration
}

// updates of one kind of item, with their write units.
type updates struct {
	n, units      int
	refused, lost int
}

const overhead = 150 // bytes of an item beside its places or cells

// update notes one of a container, by what it stores packed. The limiter does not tell
// what refused ones take.
func (t *tally) update(in *dynamodb.UpdateItemInput, refused bool) {
	kind, sk := &t.cells, rig.Text(in.Key[schema.SK])
	if sk == schema.TopSK {
		kind = &t.top
	} else if !strings.HasPrefix(sk, schema.HistogramPrefix) {
		return // a note
	}
	units := 0
	for _, value := range in.ExpressionAttributeValues {
		if packed, ok := value.(*types.AttributeValueMemberB); ok {
			units = (len(packed.Value) + overhead + 1023) / 1024
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kind.n++
	kind.units += units
	if refused {
		kind.refused++
		kind.lost += units
	}
}

// measure plays one setting on tables of its own.
func (s setting) measure(ctx context.Context, w io.Writer, endpoint string) (err error) {
	tables, err := rig.NewTables(ctx, endpoint, limiter.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tables.Close()) }()
	g, t := newGame(tables, folded, 1), &tally{}
	containers, err := s.start(ctx, g, &rig.Updates{Client: tables.Meter.Client, Note: t.update})
	if err != nil {
		return err
	}
	t.top, t.cells = updates{}, updates{}
	cost, err := tables.Meter.Cost(func() error {
		for range s.batches / s.streams {
			payloads, err := g.round(ctx, s.streams, s.first(g))
			if err != nil {
				return err
			}
			if err := s.hand(ctx, containers, payloads, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.print(w, t, cost.Stats)
	if t.top.n == 0 || t.cells.n == 0 {
		return errors.New("no update of a top or a histogram was seen")
	}
	return errors.Join(g.lookAgain(ctx), g.check(ctx, s.size))
}

// lookAgain runs the task that makes a top right which a fold left to it: one whose
// updates were refused too often.
func (g *game) lookAgain(ctx context.Context) error {
	h, err := g.Aggregator(g.DB, "HOTSHARD_BOARD_RECHECK=1s")
	if err != nil {
		return err
	}
	rig.Sleep(ctx, 1100*time.Millisecond)
	_, err = h.Invoke(ctx, []byte(rollup.BoardsTask))
	return err
}

// start fills the board, and has one container fold that.
func (s setting) start(ctx context.Context, g *game, client rollup.Client) (containers []*rollup.Handler, err error) {
	if err := errors.Join(g.settle(ctx, s.size), g.fill(ctx)); err != nil {
		return nil, err
	}
	for range s.streams {
		h, err := g.Aggregator(client, "HOTSHARD_BOARD_RECHECK=1m")
		if err != nil {
			return nil, err
		}
		containers = append(containers, h)
	}
	return containers, g.fold(ctx, containers[0])
}

// first returns the players who score more often than others.
func (s setting) first(g *game) []int {
	if !s.busy {
		return nil
	}
	return g.ranked()[:s.size]
}

// round has players score, and returns a batch for each stream shard.
func (g *game) round(ctx context.Context, streams int, first []int) ([][]byte, error) {
	records := make([][]string, streams)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	changed := map[int]bool{}
	for full := 0; full < streams; {
		i := g.random.IntN(len(g.entries))
		if len(first) > 0 && g.random.IntN(10) == 0 {
			i = first[g.random.IntN(len(first))]
		}
		stream := shard.Calculated(player(i), streams)
		if changed[i] || len(records[stream]) == batchSize {
			continue
		}
		changed[i] = true
		records[stream] = append(records[stream], g.score(i, g.random.IntN(points)))
		if len(records[stream]) == batchSize {
			full++
		}
		item := g.item(i)
		group.Go(func() error {
			_, err := g.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &g.Names.Items, Item: item})
			return err
		})
	}
	payloads := make([][]byte, streams)
	for i, list := range records {
		payloads[i] = rig.Payload(fmt.Sprint("shardId-", i), list)
	}
	return payloads, group.Wait()
}

// score changes a player's entry, and returns the record of that.
func (g *game) score(i, points int) string {
	old := g.entries[i]
	g.entries[i] = entry{points, old.rev + 1}
	return g.record(i, old)
}

// hand gives each stream shard's container its batch.
func (s setting) hand(ctx context.Context, containers []*rollup.Handler, payloads [][]byte, t *tally) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, payload := range payloads {
		group.Go(func() error {
			if s.spread > 0 {
				time.Sleep(rand.N(s.spread))
			}
			began := time.Now()
			err := rig.Deliver(ctx, containers[i], payload)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.times = append(t.times, time.Since(began))
			return err
		})
	}
	return group.Wait()
}

// check compares the top that is stored with the entries.
func (g *game) check(ctx context.Context, size int) error {
	key := rig.Key(schema.BoardRollupKey(name, period), schema.TopSK)
	out, err := g.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &g.Names.Rollups, ConsistentRead: aws.Bool(true), Key: key})
	if err != nil {
		return err
	}
	places, _ := out.Item[schema.TopPlaces].(*types.AttributeValueMemberB)
	if places == nil {
		return errors.New("there is no top")
	}
	top, err := board.ParseTop(places.Value, false)
	if err != nil || len(top.Entries()) < size {
		return fmt.Errorf("the top has less than %d entries: %v", size, err)
	}
	ranked := g.ranked()
	for i, e := range top.Entries() {
		if want := g.place(ranked[i]); e.Player != want.Player || e.Score != want.Score {
			return fmt.Errorf("rank %d is %+v, want %+v", i+1, e.Place, want)
		}
	}
	return nil
}

// print prints a line.
func (s setting) print(w io.Writer, t *tally, stats limiter.Stats) {
	n := float64(len(t.times))
	reads := map[string]float64{}
	for _, o := range stats.Operations {
		reads[o.Operation] = o.ReadUnits / n
	}
	slices.Sort(t.times)
	at := func(q float64) int64 { return rig.Quantile(t.times, q).Milliseconds() }
	top, together := "by chance", "at once"
	if s.busy {
		top = "busy"
	}
	if s.spread > 0 {
		together = "in " + s.spread.String()
	}
	fmt.Fprintf(w, "| %d | %s | %d, %s | %.0f | %.2f | %.2f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %d | %d |\n",
		s.size, top, s.streams, together, n, float64(t.top.n)/n, float64(t.top.refused)/n, float64(t.top.units)/n, float64(t.top.lost)/n,
		float64(t.cells.units)/n, reads["GetItem"], reads["BatchGetItem"], reads["Query"], at(0.5), at(0.99))
}
