// Command adopt shards a table that a program without hotshard has filled, and moves no item. The files before.go and
// after.go are that program; they differ by ten lines, their imports and names:
//
//	2000 orders of acme and 500 of 50 other customers, written by the SDK alone
//	read by pages: the same orders in the same order
//	acme has 4 write shards: 100 new orders
//	all orders are read in order; other customers' are under their plain names
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
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
	tableName      = "examples-adopt"
	mapName        = "examples-adopt-shard-map"
	acmeOrders     = 2000
	otherCustomers = 50 // with 10 orders each
)

// item is an order.
type item = map[string]types.AttributeValue

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg)
	err = adopt(ctx, client)
	for _, created := range []string{tableName, mapName} {
		_, deleteErr := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &created})
		err = errors.Join(err, deleteErr)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// adopt fills a table with the plain program, and then reads and writes it with the sharded one.
func adopt(ctx context.Context, client *dynamodb.Client) error {
	plain, err := openPlain(client)
	if err == nil {
		err = createOrders(ctx, client, plain)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d orders of acme and %d of %d other customers, written by the SDK alone\n", acmeOrders, 10*otherCustomers, otherCustomers)

	if err := setup.Create(ctx, client, setup.Names{ShardMap: mapName}); err != nil {
		return err
	}
	sharded, err := openSharded(client)
	if err != nil {
		return err
	}
	orders := &sharded.Table
	old, err := listPlain(ctx, plain, "acme")
	if err != nil {
		return err
	}
	if got, err := pages(ctx, orders); err != nil || !slices.Equal(got, old) {
		return fmt.Errorf("read by pages: found %d orders, want %d (error: %v)", len(got), len(old), err)
	}
	fmt.Println("read by pages: the same orders in the same order")

	sold, err := sell(ctx, client, sharded)
	if err != nil {
		return err
	}
	fmt.Printf("acme has 4 write shards: %d new orders\n", len(sold))

	all := slices.Sorted(slices.Values(slices.Concat(old, sold)))
	if got, err := pages(ctx, orders); err != nil || !slices.Equal(got, all) {
		return fmt.Errorf("after the growth: found %d orders, want %d (error: %v)", len(got), len(all), err)
	}
	for i := range otherCustomers {
		if list, err := listPlain(ctx, plain, customer(i)); err != nil || len(list) != 10 {
			return fmt.Errorf("customer %d: found %d orders, want 10 (error: %v)", i, len(list), err)
		}
	}
	fmt.Println("all orders are read in order; other customers' are under their plain names")
	return nil
}

// sell gives acme 4 write shards, as the grower does when its writes are throttled, and adds orders. It returns their
// sort keys.
func sell(ctx context.Context, client *dynamodb.Client, orders *shardedOrders) (sold []string, err error) {
	changer := shardmap.NewChanger(client, orders.Table.Shards.(*shardmap.Map), shardmap.ChangerOptions{})
	entry, err := changer.Pin(ctx, "acme", 4, shardmap.Note{By: "adopt"}, time.Now())
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Until(entry.Effective()))
	for i := range 100 {
		key := shard.Millis.Key(time.Now(), "#", fmt.Sprintf("sold-%02d", i))
		if err := orders.Add(ctx, table.Item{"customer": text("acme"), "placed": text(key)}); err != nil {
			return nil, err
		}
		sold = append(sold, key)
	}
	return sold, nil
}

// pages returns the sort keys of acme's orders, read by pages.
func pages(ctx context.Context, orders *table.Table) (list []string, err error) {
	span := table.Span{Limit: 300, Consistent: true}
	for {
		page, err := orders.Page(ctx, "acme", span, time.Now())
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			list = append(list, it["placed"].(*types.AttributeValueMemberS).Value)
		}
		if span.After = page.Next; span.After == "" {
			return list, nil
		}
	}
}

// listPlain returns the sort keys of a customer's orders, as the plain program reads them.
func listPlain(ctx context.Context, plain *plainOrders, customer string) (list []string, err error) {
	orders, err := plain.OrdersOf(ctx, customer)
	for _, it := range orders {
		list = append(list, it["placed"].(*types.AttributeValueMemberS).Value)
	}
	return list, err
}

// createOrders creates the table and writes its orders as the plain program does.
func createOrders(ctx context.Context, client *dynamodb.Client, plain *plainOrders) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("placed"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("placed"), KeyType: "RANGE"}},
	})
	if err != nil {
		return err
	}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(tableName)}, time.Minute); err != nil {
		return err
	}
	begin := time.Now().Add(-24 * time.Hour)
	for i := range acmeOrders + 10*otherCustomers {
		name := "acme"
		if i >= acmeOrders {
			name = customer(i % otherCustomers)
		}
		key := shard.Millis.Key(begin.Add(time.Duration(i)*time.Second), "#", fmt.Sprint("order-", i))
		if err := plain.Add(ctx, item{"customer": text(name), "placed": text(key)}); err != nil {
			return err
		}
	}
	return nil
}

func customer(i int) string { return fmt.Sprint("customer-", i) }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
