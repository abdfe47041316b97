// Command fixedcount gives a table of readings, which a Python program wrote over 16 write shards, a shard map. It raises the
// count to 32 while readings come in and are read:
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
	name    = "examples-readings"
	mapName = "examples-readings-shard-map"
	hour    = "2006-01-02-15" // Python's %Y-%m-%d-%H
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg)
	err = grow(ctx, client)
	for _, made := range []string{name, mapName} {
		_, removed := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &made})
		err = errors.Join(err, removed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func grow(ctx context.Context, client *dynamodb.Client) error {
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := errors.Join(create(ctx, client), setup.Create(ctx, client, setup.Names{ShardMap: mapName}), python(ctx, client, begin)); err != nil {
		return err
	}
	fmt.Println("2 sensors have 2 readings each, written by Python over 16 write shards")

	// Every program that reads or writes the table has these lines before the first change.
	shards := shardmap.New(client, mapName, shardmap.Options{})
	readings := table.Table{
		Client: client, Name: name, PartitionKey: "pk", SortKey: "sk",
		Layout: table.HybridBuckets{Bucket: shard.Hour.Labeled(hour), Stamp: shard.Micros, Group: "readings"},
		Shards: table.AtLeast{N: 16, Counts: shards},
	}
	want := 2
	if err := take(ctx, &readings, begin, &want); err != nil {
		return err
	}

	changer := shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})
	entry, err := changer.Pin(ctx, "readings", 32, shardmap.Note{By: "me", Why: "more sensors"}, time.Now())
	if err != nil {
		return err
	}
	for time.Now().Before(entry.Effective().Add(time.Second)) {
		if err := take(ctx, &readings, begin, &want); err != nil {
			return err
		}
	}
	fmt.Printf("32 write shards from now on: sensor-1 stays on %d, sensor-0 goes from %d to %d\n",
		shard.Calculated("sensor-1", 32), shard.Calculated("sensor-0", 16), shard.Calculated("sensor-0", 32))
	fmt.Println("each reading was found once, before, during and after the change")
	return nil
}

// take writes a reading of each sensor, and checks that all are found. want is how many each sensor has.
func take(ctx context.Context, readings *table.Table, begin time.Time, want *int) error {
	now := time.Now()
	*want++
	for _, sensor := range []string{"sensor-0", "sensor-1"} {
		err := readings.Put(ctx, table.Item{"pk": text(sensor), "sk": text(shard.Micros.Format(now))}, now)
		if err != nil {
			return err
		}
		span := table.During(shard.Micros, begin, now.Add(time.Second))
		span.Consistent, span.Limit = true, 1000
		page, err := readings.Page(ctx, sensor, span, time.Now())
		if err != nil || len(page.Items) != *want {
			return fmt.Errorf("%s: %d readings, want %d: %w", sensor, len(page.Items), *want, err)
		}
	}
	return nil
}

// python stores readings as Python does:
//
//	n = int(hashlib.sha256(sensor.encode()).hexdigest(), 16) % 16
//	table.put_item(Item={"pk": f"{n}#{at:%Y-%m-%d-%H}", "sk": f"{sensor}#{at:%Y-%m-%dT%H:%M:%S.%fZ}"})
func python(ctx context.Context, client *dynamodb.Client, begin time.Time) error {
	for i, r := range []struct{ n, sensor string }{{"1", "sensor-0"}, {"13", "sensor-1"}, {"1", "sensor-0"}, {"13", "sensor-1"}} {
		at := begin.Add(time.Duration(i) * time.Minute).UTC()
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(name), Item: table.Item{
			"pk": text(r.n + "#" + at.Format(hour)), "sk": text(r.sensor + "#" + shard.Micros.Format(at)),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func create(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, time.Minute)
}
