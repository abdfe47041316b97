package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// setting is one line.
type setting struct {
	size    int
	busy    bool
	streams int
	spread  time.Duration // over which the batches of a round are handed out
}

// counted is a container's client, which counts the updates of tops.
type counted struct {
	*dynamodb.Client
	t *tally
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

// UpdateItem implements rollup.Client.
func (c *counted) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, o...)
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if places, ok := in.ExpressionAttributeValues[":places"].(*types.AttributeValueMemberB); ok {
		c.t.top.count(places.Value, refused)
	}
	if cells, ok := in.ExpressionAttributeValues[":cells"].(*types.AttributeValueMemberB); ok {
		c.t.cells.count(cells.Value, refused)
	}
	return out, err
}

func (u *updates) count(packed []byte, refused bool) {
	units := (len(packed) + overhead + 1023) / 1024
	u.n++
	u.units += units
	if refused {
		u.refused++
		u.lost += units
	}
}

// measure plays one setting on tables of its own.
func (s setting) measure(ctx context.Context, w io.Writer, endpoint string) error {
	limits, err := limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 100_000, Base: local.Transport()})
	if err != nil {
		return err
	}
	access, names := "b"+rand.Text(), schema.NamesFor("boards-")
	g := &game{db: local.DynamoDB(endpoint, access), table: names.Items, random: mathrand.New(mathrand.NewPCG(seed, 0))}
	if err := local.CreateTables(ctx, g.db, names); err != nil {
		return err
	}
	t := &tally{}
	folding := &counted{local.DynamoDB(endpoint, access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }), t}
	containers, err := s.start(ctx, g, folding, names)
	if err != nil {
		return err
	}
	limits.Reset()
	t.top, t.cells, t.times = updates{}, updates{}, nil
	for range batches / s.streams {
		payloads, err := g.round(ctx, s.streams, s.first(g))
		if err != nil {
			return err
		}
		if err := s.hand(ctx, containers, payloads, t); err != nil {
			return err
		}
	}
	s.print(w, t, limits.Stats())
	if err := g.check(ctx, names.Rollups, s.size); err != nil {
		return err
	}
	for _, table := range local.Tables(names) {
		if _, err := g.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
			return err
		}
	}
	return nil
}

// start fills the board, and has one container fold that.
func (s setting) start(ctx context.Context, g *game, client rollup.Client, names schema.Names) ([]*rollup.Handler, error) {
	records, err := g.fill(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx, g); err != nil {
		return nil, err
	}
	containers := make([]*rollup.Handler, s.streams)
	for i := range containers {
		if containers[i], err = rollup.New(rollup.Settings{
			ItemsTable: names.Items, RollupsTable: names.Rollups, ShardMapTable: names.ShardMap, BoardRecheck: time.Minute,
		}, client, slog.New(slog.DiscardHandler)); err != nil {
			return nil, err
		}
	}
	for first := 0; first < len(records); first += 1000 {
		if err := deliver(ctx, containers[0], payload(s.streams, records[first:min(first+1000, len(records))])); err != nil {
			return nil, err
		}
	}
	return containers, nil
}

// settle puts the board's settings.
func (s setting) settle(ctx context.Context, g *game) error {
	pk, sk := schema.SettingsKey(name)
	_, err := g.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &g.table, Item: map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk}, schema.SK: &types.AttributeValueMemberS{Value: sk},
		schema.BoardMode: &types.AttributeValueMemberS{Value: string(boards.Latest)},
		schema.BoardSize: &types.AttributeValueMemberN{Value: fmt.Sprint(s.size)}, schema.BoardPeriods: &types.AttributeValueMemberS{Value: "all"},
	}})
	return err
}

// first returns the players who score more often than others.
func (s setting) first(g *game) []int {
	if !s.busy {
		return nil
	}
	all := make([]int, players)
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int { return g.entries[b].points - g.entries[a].points })
	return all[:s.size]
}

// hand gives each stream shard's container its batch.
func (s setting) hand(ctx context.Context, containers []*rollup.Handler, payloads [][]byte, t *tally) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, payload := range payloads {
		group.Go(func() error {
			if s.spread > 0 {
				time.Sleep(mathrand.N(s.spread))
			}
			began := time.Now()
			err := deliver(ctx, containers[i], payload)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.times = append(t.times, time.Since(began))
			return err
		})
	}
	return group.Wait()
}

func deliver(ctx context.Context, h *rollup.Handler, payload []byte) error {
	out, err := h.Invoke(ctx, payload)
	if err == nil && strings.Contains(string(out), "itemIdentifier") {
		err = errors.New("records were not folded")
	}
	return err
}

// check compares the top that is stored with the entries.
func (g *game) check(ctx context.Context, table string, size int) error {
	out, err := g.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: schema.BoardRollupKey(name, "all")},
		schema.SK: &types.AttributeValueMemberS{Value: schema.TopSK},
	}})
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
	want := g.ranked()
	for i, e := range top.Entries() {
		if e.Player != want[i].Player || e.Score != want[i].Score {
			return fmt.Errorf("rank %d is %+v, want %+v", i+1, e.Place, want[i])
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
	at := func(q float64) int64 { return t.times[int(q*(n-1))].Milliseconds() }
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
