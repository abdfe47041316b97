package setup

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/schema/tableinput"
)

// Client is what Create calls of DynamoDB.
type Client interface {
	tableinput.Client
}

// Create makes the tables of [Tables], waits until they can be used, and turns their expiry on.
// Of one that is there already nothing else is changed; it is an error when its keys, its indexes,
// its stream or the attribute of its expiry are others. So programs may call it whenever they
// start, also at the same time. Expiry that is being turned off stays so: until that is done, AWS
// refuses to turn it on. A later call does.
func Create(ctx context.Context, client Client, prefix string) error {
	for _, t := range schema.Tables(schema.NamesFor(prefix)) {
		if err := tableinput.Make(ctx, client, t); err != nil {
			return err
		}
	}
	return nil
}

// Tables says how hotshard's four tables are made, on demand:
//
//	<prefix>items      pk, sk; a stream of new and old images; index by_rank of
//	                   board_shard, rank_key, index by_group of session_shard, sk.
//	                   Counters, events, boards, sessions, limits and the markers of once
//	<prefix>rollups    pk, sk. What counters.Summaries reads
//	<prefix>shard-map  pk, sk. What a shardmap.Map reads
//	<prefix>heat       pk, sk. What the detector counted
//
// All keys are of type S. Items expire by expires_at, which [Expiry] turns on. Without
// hotshard's functions nobody reads the stream, and the tables of rollups and heat stay
// empty: leave them out if you like.
func Tables(prefix string) []*dynamodb.CreateTableInput {
	var list []*dynamodb.CreateTableInput
	for _, t := range schema.Tables(schema.NamesFor(prefix)) {
		list = append(list, tableinput.Create(t))
	}
	return list
}

// Expiry says how expiry is turned on for the tables of [Tables], once they are active.
// Without it all is right, but nothing is cleared up.
func Expiry(prefix string) []*dynamodb.UpdateTimeToLiveInput {
	var list []*dynamodb.UpdateTimeToLiveInput
	for _, t := range schema.Tables(schema.NamesFor(prefix)) {
		if in := tableinput.Expiry(t); in != nil {
			list = append(list, in)
		}
	}
	return list
}
