// Command shardtable shards a hot partition key of an existing table that nobody
// writes meanwhile: go run ./examples/shardtable orders customer placed acme
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func main() {
	ctx, args := context.Background(), os.Args[1:]
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil || len(args) != 4 {
		log.Fatal("say TABLE PARTITION_KEY SORT_KEY NAME, and have AWS set up: ", err)
	}
	client := dynamodb.NewFromConfig(cfg)
	plain := ddb.Table{Client: client, Name: args[0], PartitionKey: args[1], SortKey: args[2], Shards: ddb.Fixed(1), Layout: ddb.Unsharded{}}
	sharded := plain
	sharded.Shards, sharded.Layout = ddb.Fixed(10), ddb.CalculatedSuffix{}
	move := ddb.Migration{Client: client, From: &plain, To: &sharded, Phase: ddb.WriteBoth}
	if _, err := move.Copy(ctx, args[3], ddb.Span{}, func(p ddb.Progress) { log.Println(p.Seen, "seen") }); err != nil {
		log.Fatal(err)
	}
	if same, err := move.Verify(ctx, args[3], ddb.Span{}); err != nil || !same.Equal() {
		log.Fatal("the copy differs: ", same, err)
	}
	move.Phase = ddb.WriteNew // with programs at work, each phase is a deployment of theirs
	done, err := move.Drop(ctx, args[3], ddb.Span{}, false, nil)
	log.Println(done.Changed, "moved;", err)
}
