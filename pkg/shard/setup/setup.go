package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
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
	ShardMap string // read by a shardmap.Map; required
	Heat     string // the detector's counts
	// PartitionKey and SortKey are the names of the keys of all tables; default pk and sk. Programs that use tables with
	// other names need a client with RenameKeys. hotshard's functions and command line can't use such tables.
	PartitionKey, SortKey string
}

// WithPrefix returns the names that hotshard's programs use: <prefix>items, <prefix>events,
// <prefix>rollups, <prefix>shard-map and <prefix>heat.
func WithPrefix(prefix string) Names {
	n := schema.NamesFor(prefix)
	return Names{Items: n.Items, Events: n.Events, Rollups: n.Rollups, ShardMap: n.ShardMap, Heat: n.Heat}
}

// tables returns the tables that have a name.
func (n Names) tables() []schema.Table {
	all := schema.Tables(schema.Names{Items: n.Items, Events: n.Events, Rollups: n.Rollups, ShardMap: n.ShardMap, Heat: n.Heat})
	return slices.DeleteFunc(all, func(t schema.Table) bool { return t.Name == "" })
}

// Create creates hotshard's tables, waits until they are active, and enables TTL. All keys are of type S. Items has the
// indexes by_rank (board_shard, rank_key) and by_group (session_shard, the table's sort key). Items and Events have a
// stream of new and old images, which only hotshard's functions read. Package table needs ShardMap only.
//
// Programs may call Create at each start, also concurrently. For an existing table, Create returns an error if the keys or
// the TTL attribute differ. It does not check indexes and streams. Without TTL results are correct, but expired items are
// not deleted. AWS does not enable TTL while it is being disabled; a later call of Create does.
func Create(ctx context.Context, db Client, names Names) error {
	k, err := names.renamer()
	if err = cmp.Or(dynamo.CheckClient(db), err); err != nil {
		return err
	}
	if names.ShardMap == "" {
		return fmt.Errorf("%w: setup.Names.ShardMap is empty: name the shard map's table", shard.ErrMisused)
	}
	used := map[string]bool{}
	for _, t := range names.tables() {
		if used[t.Name] {
			return fmt.Errorf("%w: setup.Names needs another name for each table: %s is the name of two", shard.ErrMisused, t.Name)
		}
		used[t.Name] = true
	}
	for _, t := range names.tables() {
		if err := schema.MakeTable(ctx, db, k.table(t)); err != nil {
			return err
		}
	}
	return nil
}
