// Command shardtable shards a hot partition key of an existing table that nobody
// writes meanwhile. First it copies, as often as need be, and then it drops the old:
//
//	go run ./examples/shardtable copy orders customer placed acme
//	go run ./examples/shardtable drop orders customer placed acme
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func main() {
	ctx, args := context.Background(), os.Args[1:]
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil || len(args) != 5 || args[0] != "copy" && args[0] != "drop" {
		log.Fatal("say copy|drop TABLE PARTITION_KEY SORT_KEY NAME, and have AWS set up: ", err)
	}
	client := dynamodb.NewFromConfig(cfg)
	plain := ddb.Table{Client: client, Name: args[1], PartitionKey: args[2], SortKey: args[3], Shards: ddb.Fixed(1), Layout: ddb.Unsharded{}}
	sharded := plain
	sharded.Shards, sharded.Layout = ddb.Fixed(10), ddb.CalculatedSuffix{}
	move := &ddb.Migration{Client: client, From: &plain, To: &sharded, Phase: ddb.WriteBoth}
	if args[0] == "copy" { // an error says so when other items are where the new ones go
		done, err := move.Copy(ctx, args[4], ddb.Span{}, func(p ddb.Progress) { log.Println(p.Seen, "seen") })
		log.Println(done.Changed, "copied")
		exitOn(err)
	}
	same, err := move.Verify(ctx, args[4], ddb.Span{}) // extra ones are those whose old ones a drop deleted
	if err == nil && (same.Missing+same.Different > 0 || same.Extra > 0 && args[0] == "copy") {
		err = fmt.Errorf("the copy differs: %+v", same)
	}
	exitOn(err)
	if args[0] == "drop" {
		move.Phase = ddb.WriteNew // with programs at work, each phase is a deployment of theirs
		done, err := move.Drop(ctx, args[4], ddb.Span{}, false, nil)
		log.Println(done.Changed, "moved")
		if err == nil && done.Kept > 0 {
			err = fmt.Errorf("%d are kept: they have no copy", done.Kept)
		}
		exitOn(err)
	}
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
