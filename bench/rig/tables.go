package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/runtimeapi"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Item is one of a table's, or its key.
type Item = map[string]types.AttributeValue

// S is a text, N a number, as DynamoDB has them.
func S(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
func N[I int | int64](n I) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// Key is an item's.
func Key(pk, sk string) Item { return Item{schema.PK: S(pk), schema.SK: S(sk)} }

// Text is what S made; "" for other values.
func Text(value types.AttributeValue) string {
	s, _ := value.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// Whole is an item's whole number.
func Whole(it Item, name string) (int64, error) {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("an item of %q has no number %s", Text(it[schema.PK]), name)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

// Tables are hotshard's tables in a database of their own on the engine.
type Tables struct {
	DB    *dynamodb.Client
	Meter *Meter // another way to the same tables
	Names schema.Names

	Endpoint, Access string
	dir              string // for failure files
}

// NewTables makes the tables. The zero limits let everything through and only count.
// Close deletes the tables.
func NewTables(ctx context.Context, endpoint string, limits limiter.Options) (t *Tables, err error) {
	access := "b" + rand.Text()
	t = &Tables{DB: local.DynamoDB(endpoint, access), Names: schema.NamesFor(access + "-"), Endpoint: endpoint, Access: access}
	if limits.Partitions == 0 {
		limits.Partitions, limits.PartitionWCU, limits.PartitionRCU = 64, 100_000, 300_000
	}
	limits.Base, limits.TopKeys = local.Transport(), 10_000 // experiments count partition keys
	t.Meter = &Meter{}
	if t.Meter.Limits, err = limiter.New(limits); err != nil {
		return nil, err
	}
	t.Meter.Client = local.DynamoDB(endpoint, access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: t.Meter} })
	if t.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, fmt.Errorf("making a folder for failures: %w", err)
	}
	if err := local.CreateTables(ctx, t.DB, t.Names); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// With does something with tables of its own.
func With(ctx context.Context, endpoint string, limits limiter.Options, do func(*Tables) error) error {
	t, err := NewTables(ctx, endpoint, limits)
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.Close())
}

// Close deletes the tables.
func (t *Tables) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := os.RemoveAll(t.dir)
	for _, table := range local.Tables(t.Names) {
		_, failed := t.DB.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// Scan reads a whole table.
func (t *Tables) Scan(ctx context.Context, table string, each func(Item) error) error {
	pages := dynamodb.NewScanPaginator(t.DB, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading the table %s: %w", table, err)
		}
		for _, it := range page.Items {
			if err := each(it); err != nil {
				return fmt.Errorf("reading the table %s: %w", table, err)
			}
		}
	}
	return nil
}

// Folded is what all summaries of counters and events come to.
func (t *Tables) Folded(ctx context.Context) (sum int64, err error) {
	err = t.Scan(ctx, t.Names.Rollups, func(it Item) error {
		for name := range it {
			if !schema.IsValueAttr(name) && name != schema.RollupEvents {
				continue
			}
			n, err := Whole(it, name)
			if err != nil {
				return err
			}
			sum += n
		}
		return nil
	})
	return sum, err
}

// Pin gives a key so many write shards from a time on. On a machine that is busy a change
// may take more than its second, and is made again.
func (t *Tables) Pin(ctx context.Context, key schema.BaseKey, shards int, from time.Time) (err error) {
	changer := shardmap.NewChanger(t.DB, shardmap.New(t.DB, t.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	for range 20 {
		_, err = changer.Pin(ctx, key.String(), shards, shardmap.Note{By: "bench", Why: "measured"}, from)
		if !errors.Is(err, shard.ErrUnavailable) {
			return err
		}
	}
	return err
}

// FailureFile is where a mapping writes what it gives up.
func (t *Tables) FailureFile(mapping string) string {
	return filepath.Join(t.dir, mapping+".jsonl")
}

// Silent drops all messages.
var Silent = slog.New(slog.DiscardHandler)

// Environment is a function's, with its settings; more are further ones.
func (t *Tables) Environment(more ...string) []string {
	return append(runtimeapi.Env(t.Endpoint, t.Access, t.Endpoint, t.Names), more...)
}

// Settings are those that a function reads from such an environment.
func Settings[T any](t *Tables, more ...string) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: env.ToMap(t.Environment(more...))})
}

// Aggregator is one container of it. More settings are as those of Environment.
func (t *Tables) Aggregator(client rollup.Client, more ...string) (*rollup.Handler, error) {
	settings, err := Settings[rollup.Settings](t, more...)
	if err != nil {
		return nil, err
	}
	return rollup.New(settings, client, Silent)
}

// Meter is a client whose requests and units are counted.
type Meter struct {
	*dynamodb.Client
	Limits *limiter.Limiter
	Delay  time.Duration // before each request, which stands for a network

	requests atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (m *Meter) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests.Add(1)
	if m.Delay > 0 {
		Sleep(r.Context(), m.Delay)
	}
	return m.Limits.RoundTrip(r)
}

// Cost is what calls took.
type Cost struct {
	limiter.Stats
	Requests int64
}

// Cost makes calls, and counts what they take.
func (m *Meter) Cost(calls func() error) (Cost, error) {
	m.requests.Store(0)
	m.Limits.Reset()
	err := calls()
	return Cost{m.Limits.Stats(), m.requests.Load()}, err
}

// Reads is a cell of a table: requests and read units.
func (c Cost) Reads() string { return fmt.Sprintf("%d / %.1f", c.Requests, c.ReadUnits) }

// Hottest is the share of the writes that went to the partition key that got most, and
// the number of such keys.
func (c Cost) Hottest() (share float64, keys int) {
	if list := c.Keys.Writes; len(list) > 0 {
		return list[0].Units / c.WriteUnits, len(list)
	}
	return 0, 0
}

// Updates is a handler's client that tells of each update, and whether its condition
// failed.
type Updates struct {
	*dynamodb.Client
	Note func(in *dynamodb.UpdateItemInput, failed bool) // for many goroutines
}

// UpdateItem tells of the update when it is answered.
func (u *Updates) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := u.Client.UpdateItem(ctx, in, o...)
	_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
	u.Note(in, failed)
	return out, err
}
