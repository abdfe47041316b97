// Command shardtable shards a hot partition key without concurrent writers. Run "copy" until it succeeds, then "drop":
// go run ./examples/shardtable copy orders customer placed acme
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

func main() {
	ctx, args := context.Background(), os.Args[1:]
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil || len(args) != 5 || args[0] != "copy" && args[0] != "drop" {
		log.Fatal("say copy|drop TABLE PARTITION_KEY SORT_KEY NAME, and have AWS set up: ", err)
	}
	client, name, done := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }), args[4], migrate.Progress{}
	plain := table.Table{Client: client, Name: args[1], PartitionKey: args[2], SortKey: args[3], Shards: table.Fixed(1), Layout: table.Unsharded{}}
	sharded := table.Table{Client: client, Name: args[1], PartitionKey: args[2], SortKey: args[3], Shards: table.Fixed(10), Layout: table.CalculatedSuffix{}}
	move := migrate.Migration{Client: client, From: &plain, To: &sharded, Phase: migrate.WriteBoth}
	if args[0] == "copy" { // it returns an error if other items have the new keys
		done, err = move.Copy(ctx, name, table.Span{}, time.Now(), nil)
	} else if same, differ := move.Verify(ctx, name, table.Span{}, time.Now()); differ != nil || same.Missing+same.Different > 0 {
		log.Fatalf("nothing is dropped: %+v, %v", same, differ) // Extra are items whose old ones were dropped before
	} else {
		move.Phase = migrate.WriteNew // running programs are deployed once for each phase
		done, err = move.Drop(ctx, name, table.Span{}, time.Now(), nil)
	}
	log.Printf("%+v", done)
	if err != nil || done.Kept > 0 {
		log.Fatal("not all is done: ", err)
	}
}
