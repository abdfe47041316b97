package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Tables are the tables of one deployment, in a database of their own on the engine.
type Tables struct {
	DB    *dynamodb.Client
	Names schema.Names

	Endpoint, Access string
	dir              string // for failure files
}

// NewTables creates the tables. Close deletes them.
func NewTables(ctx context.Context, endpoint string) (t *Tables, err error) {
	access := "b" + rand.Text()
	t = &Tables{DB: dynamolocal.DynamoDB(endpoint, access), Names: schema.NamesFor(access + "-"), Endpoint: endpoint, Access: access}
	if t.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, fmt.Errorf("making a folder for failures: %w", err)
	}
	if err := dynamolocal.CreateTables(ctx, t.DB, t.Names); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// With calls do with new tables, and deletes them when do returns.
func With(ctx context.Context, endpoint string, do func(*Tables) error) error {
	t, err := NewTables(ctx, endpoint)
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.Close())
}

// Close deletes the tables that NewTables created. An experiment may have changed Names since.
func (t *Tables) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := os.RemoveAll(t.dir)
	for _, table := range dynamolocal.Tables(schema.NamesFor(t.Access + "-")) {
		_, failed := t.DB.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// Scan calls each with every item of a table.
func (t *Tables) Scan(ctx context.Context, table string, each func(dynamo.Item) error) error {
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

// Folded returns the sum of all summaries of counters and events, and of the counters' write shards 0, which
// are read as they are.
func (t *Tables) Folded(ctx context.Context) (sum int64, err error) {
	add := func(it dynamo.Item, name string) error {
		n, err := dynamo.Integer(it, name)
		sum += n
		return err
	}
	err = t.Scan(ctx, t.Names.Rollups, func(it dynamo.Item) error {
		for name := range it {
			if !schema.IsValueAttr(name) && name != schema.RollupEvents {
				continue
			}
			if err := add(it, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = t.Scan(ctx, t.Names.Of(kind.Counter), func(it dynamo.Item) error {
		key, err := schema.ParseKey(dynamo.Text(it, schema.PK))
		if err != nil || key.Base.Type != kind.Counter || key.Shard > 0 {
			return nil // not a write shard 0
		}
		return add(it, "value")
	})
	return sum, err
}

// Pin pins a key's number of write shards from a time on. It retries changes that time out, as on a busy
// machine.
func (t *Tables) Pin(ctx context.Context, key schema.BaseKey, shards int, from time.Time) (err error) {
	changer := shardmap.NewChanger(t.DB, shardmap.New(t.DB, t.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{
		Clock: func() time.Time { return from },
	})
	for range 20 {
		_, err = changer.Pin(ctx, key.String(), shards, shardmap.Note{By: "bench", Why: "measured", Kind: string(key.Type)}, from)
		if !errors.Is(err, shard.ErrUnavailable) {
			return err
		}
	}
	return err
}

// FailureFile returns the path of the file to which a mapping writes discarded records.
func (t *Tables) FailureFile(mapping string) string {
	return filepath.Join(t.dir, mapping+".jsonl")
}

// Silent is a logger that discards all messages.
var Silent = slog.New(slog.DiscardHandler)

// Environment returns a function's environment variables, each NAME=value. More are added.
func (t *Tables) Environment(more ...string) []string {
	return append(runtimeapi.Env(t.Endpoint, t.Access, t.Endpoint, t.Names), more...)
}

// Settings returns the settings that a function reads from its environment.
func Settings[T any](t *Tables, more ...string) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: env.ToMap(t.Environment(more...))})
}

// Aggregator returns a container of the aggregator. More are environment variables, each NAME=value.
func (t *Tables) Aggregator(client fold.Client, more ...string) (*fold.Handler, error) {
	settings, err := Settings[fold.Settings](t, more...)
	if err != nil {
		return nil, err
	}
	return fold.New(settings, client, Silent)
}

// Updates is a client that calls Note after each update, with whether its condition failed.
type Updates struct {
	*dynamodb.Client
	Note func(in *dynamodb.UpdateItemInput, failed bool) // for many goroutines
}

// UpdateItem calls Note when the update is answered.
func (u *Updates) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := u.Client.UpdateItem(ctx, in, o...)
	_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
	u.Note(in, failed)
	return out, err
}
