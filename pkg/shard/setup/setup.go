package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/schema/tableinput"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Client is the part of DynamoDB's client that Create calls.
type Client interface {
	client.TableMaker
}

// Names are the names of hotshard's five tables. A table without a name is not created. Only
// hotshard's functions need Rollups and Heat.
type Names struct {
	Items    string // counters, boards, sessions, limits and the markers of once
	Events   string // events
	Rollups  string // read by counters.Summaries
	ShardMap string // read by a shardmap.Map
	Heat     string // the detector's counts
}

// WithPrefix returns the names that hotshard's programs use: <prefix>items, <prefix>events,
// <prefix>rollups, <prefix>shard-map and <prefix>heat.
func WithPrefix(prefix string) Names { return Names(schema.NamesFor(prefix)) }

// tables returns the tables that have a name.
func (n Names) tables() []schema.Table {
	return slices.DeleteFunc(schema.Tables(schema.Names(n)), func(t schema.Table) bool { return t.Name == "" })
}

// Create creates hotshard's tables, waits until they are active, and enables TTL. All keys are of type S.
// Every table has the keys pk and sk. Items has the indexes by_rank (board_shard, rank_key) and by_group
// (session_shard, sk). Items and Events have a stream of new and old images, which only hotshard's functions
// read. Without TTL results are correct, but expired items are not deleted. For an
// existing table, it returns an error if the keys, indexes, stream or TTL attribute differ. So
// programs may call Create at each start, also concurrently. AWS does not enable TTL while it is
// being disabled; a later call of Create does.
func Create(ctx context.Context, db Client, names Names) error {
	if names.Items == "" && names.Events == "" || names.ShardMap == "" {
		return fmt.Errorf("%w: setup needs names for ShardMap, and for Items or Events", shard.ErrMisused)
	}
	used := map[string]bool{}
	for _, t := range names.tables() {
		if used[t.Name] {
			return fmt.Errorf("%w: setup needs another name for each table: %s is used twice", shard.ErrMisused, t.Name)
		}
		used[t.Name] = true
	}
	return names.create(ctx, db)
}

func (n Names) create(ctx context.Context, db Client) error {
	for _, t := range n.tables() {
		if err := tableinput.Make(ctx, db, t); err != nil {
			return err
		}
	}
	return nil
}

// CreateShardMap creates only the table of a shardmap.Map, for tables of the caller's own. It checks
// an existing table, as Create does.
func CreateShardMap(ctx context.Context, db Client, name string) error {
	if name == "" {
		return fmt.Errorf("%w: setup needs a name for the shard map", shard.ErrMisused)
	}
	return Names{ShardMap: name}.create(ctx, db)
}
