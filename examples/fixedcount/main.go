// Command fixedcount gives a shard map to a table whose count was fixed: a Python program wrote it over 16 write
// shards. The command raises the count to 32 while it writes and reads:
//
//	2 sensors have 2 readings each, written by Python over 16 write shards
//	32 write shards from now on: sensor-1 stays on 13, sensor-0 goes from 1 to 17
//	each reading was found once, before, during and after the change
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

const (
	tableName = "examples-readings"
	mapName   = "examples-readings-shard-map"
	hour      = "2006-01-02-15" // Python's %Y-%m-%d-%H
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg)
	err = grow(ctx, client)
	for _, created := range []string{tableName, mapName} {
		_, deleteErr := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &created})
		err = errors.Join(err, deleteErr)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// grow raises the count of the table from 16 to 32, and checks that each reading is found before, during and after.
func grow(ctx context.Context, client *dynamodb.Client) error {
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := errors.Join(create(ctx, client), setup.Create(ctx, client, setup.Names{ShardMap: mapName}), putAsPython(ctx, client, begin)); err != nil {
		return err
	}
	fmt.Println("2 sensors have 2 readings each, written by Python over 16 write shards")

	// Every program that reads or writes the table has these lines before the first change.
	shards := shardmap.New(client, mapName, shardmap.Options{})
	readings := table.Table{
		Client: client, Name: tableName, PartitionKey: "pk", SortKey: "sk",
		Layout: table.HybridBuckets{Bucket: shard.Hour.Labeled(hour), Stamp: shard.Micros, Group: "readings"},
		Shards: table.AtLeast{N: 16, Counts: shards},
	}
	count := 2 // readings of each sensor
	if err := addReadings(ctx, &readings, begin, &count); err != nil {
		return err
	}

	changer := shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})
	entry, err := changer.Pin(ctx, "readings", 32, shardmap.Note{By: "me", Why: "more sensors"}, time.Now())
	if err != nil {
		return err
	}
	for time.Now().Before(entry.Effective().Add(time.Second)) {
		if err := addReadings(ctx, &readings, begin, &count); err != nil {
			return err
		}
	}
	fmt.Printf("32 write shards from now on: sensor-1 stays on %d, sensor-0 goes from %d to %d\n",
		shard.Calculated("sensor-1", 32), shard.Calculated("sensor-0", 16), shard.Calculated("sensor-0", 32))
	fmt.Println("each reading was found once, before, during and after the change")
	return nil
}

// addReadings writes a reading of each sensor, raises count by one, and checks that each sensor has count readings.
func addReadings(ctx context.Context, readings *table.Table, begin time.Time, count *int) error {
	now := time.Now()
	*count++
	for _, sensor := range []string{"sensor-0", "sensor-1"} {
		err := readings.Put(ctx, table.Item{"pk": text(sensor), "sk": text(shard.Micros.Format(now))}, now)
		if err != nil {
			return err
		}
		span := table.During(shard.Micros, begin, now.Add(time.Second))
		span.Consistent, span.Limit = true, 1000
		page, err := readings.Page(ctx, sensor, span, time.Now())
		if err != nil {
			return err
		}
		if len(page.Items) != *count {
			return fmt.Errorf("%s: found %d readings, want %d", sensor, len(page.Items), *count)
		}
	}
	return nil
}

// putAsPython stores two readings of each sensor as this Python does:
//
//	n = int(hashlib.sha256(sensor.encode()).hexdigest(), 16) % 16
//	table.put_item(Item={"pk": f"{n}#{at:%Y-%m-%d-%H}", "sk": f"{sensor}#{at:%Y-%m-%dT%H:%M:%S.%fZ}"})
func putAsPython(ctx context.Context, client *dynamodb.Client, begin time.Time) error {
	for i, r := range []struct{ writeShard, sensor string }{{"1", "sensor-0"}, {"13", "sensor-1"}, {"1", "sensor-0"}, {"13", "sensor-1"}} {
		at := begin.Add(time.Duration(i) * time.Minute).UTC()
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: table.Item{
			"pk": text(r.writeShard + "#" + at.Format(hour)), "sk": text(r.sensor + "#" + shard.Micros.Format(at)),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// create creates the table of readings.
func create(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(tableName)}, time.Minute)
}
