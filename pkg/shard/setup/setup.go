package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/schema/tableinput"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Client is what Create calls of DynamoDB.
type Client interface {
	tableinput.Client
}

// Names are the names of hotshard's four tables. Rollups and Heat may be left out, as "": without
// hotshard's functions nobody writes those.
type Names struct {
	Items    string // counters, events, boards, sessions, limits and the markers of once
	Rollups  string // what counters.Summaries reads
	ShardMap string // what a shardmap.Map reads
	Heat     string // what the detector counted
}

// WithPrefix returns the names that hotshard's programs go by: <prefix>items, <prefix>rollups,
// <prefix>shard-map and <prefix>heat.
func WithPrefix(prefix string) Names { return Names(schema.NamesFor(prefix)) }

// tables are those that have a name.
func (n Names) tables() []schema.Table {
	return slices.DeleteFunc(schema.Tables(schema.Names(n)), func(t schema.Table) bool { return t.Name == "" })
}

// Create makes the tables of [Tables], waits until they can be used, and turns their expiry on.
// Of one that is there already nothing else is changed; it is an error when its keys, its indexes,
// its stream or the attribute of its expiry are others. So programs may call it whenever they
// start, also at the same time. Expiry that is being turned off stays so: until that is done, AWS
// refuses to turn it on. A later call does.
func Create(ctx context.Context, client Client, names Names) error {
	if names.Items == "" || names.ShardMap == "" {
		return fmt.Errorf("%w: setup needs names for Items and ShardMap", shard.ErrMisused)
	}
	for _, t := range names.tables() {
		if err := tableinput.Make(ctx, client, t); err != nil {
			return err
		}
	}
	return nil
}

// Tables says how hotshard's tables are made, on demand. All have the keys pk and sk, of type S.
// That of the items has a stream of new and old images, the index by_rank of board_shard and
// rank_key, and the index by_group of session_shard and sk, all of type S, too.
//
// Items expire by expires_at, which [Expiry] turns on. Without hotshard's functions nobody reads
// the stream.
func Tables(names Names) []*dynamodb.CreateTableInput {
	var list []*dynamodb.CreateTableInput
	for _, t := range names.tables() {
		list = append(list, tableinput.Create(t))
	}
	return list
}

// Expiry says how expiry is turned on for the tables of [Tables], once they are active.
// Without it all is right, but nothing is cleared up.
func Expiry(names Names) []*dynamodb.UpdateTimeToLiveInput {
	var list []*dynamodb.UpdateTimeToLiveInput
	for _, t := range names.tables() {
		if in := tableinput.Expiry(t); in != nil {
			list = append(list, in)
		}
	}
	return list
}
