// Command adopt shards a table that a program without hotshard has filled, and moves no item. The files before.go and
// after.go are that program; they differ by ten lines, their imports and names. The storm goes through a limiter of 20 WCU/s for each of 64
// partitions, as AWS has one of 1,000:
//
//	2000 orders of acme and 500 of 50 other customers, written by the SDK alone
//	read by pages: the same orders in the same order
//	a storm on acme: throttled under the plain name, then on several write shards, and no more
//	all orders are read in order; other customers' are under their plain names
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	name      = "examples-adopt"
	mapName   = "examples-adopt-shard-map"
	ofAcme    = 2000
	customers = 50 // others, with 10 orders each
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
	for _, made := range []string{name, mapName} {
		_, removed := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &made})
		err = errors.Join(err, removed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func adopt(ctx context.Context, client *dynamodb.Client) error {
	plain, err := openPlain(client)
	if err == nil {
		err = createOrders(ctx, client, plain)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d orders of acme and %d of %d other customers, written by the SDK alone\n", ofAcme, 10*customers, customers)

	if err := setup.Create(ctx, client, setup.Names{ShardMap: mapName}); err != nil {
		return err
	}
	limits, err := throttle.New(throttle.Options{Partitions: 64, PartitionWCU: 20, Base: http.DefaultTransport})
	if err != nil {
		return err
	}
	limited := dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })

	sharded, err := openSharded(limited)
	if err != nil {
		return err
	}
	orders := &sharded.Table
	storm := &counted{Observer: orders.Observer}
	orders.Observer = storm

	old, err := listPlain(ctx, plain, "acme")
	if err != nil {
		return err
	}
	if got, err := pages(ctx, orders); err != nil || !slices.Equal(got, old) {
		return fmt.Errorf("read by pages: %d orders, want %d; %v", len(got), len(old), err)
	}
	fmt.Println("read by pages: the same orders in the same order")

	sold, err := storm.on(ctx, sharded)
	if err != nil {
		return err
	}
	fmt.Println("a storm on acme: throttled under the plain name, then on several write shards, and no more")

	all := slices.Sorted(slices.Values(slices.Concat(old, sold)))
	if got, err := pages(ctx, orders); err != nil || !slices.Equal(got, all) {
		return fmt.Errorf("after the storm: %d orders, want %d; %v", len(got), len(all), err)
	}
	for i := range customers {
		if list, err := listPlain(ctx, plain, customer(i)); err != nil || len(list) != 10 {
			return fmt.Errorf("customer %d: %d orders, %v", i, len(list), err)
		}
	}
	fmt.Println("all orders are read in order; other customers' are under their plain names")
	return nil
}

// counted counts the attempts of a storm, and passes them on.
type counted struct {
	shard.Observer
	throttled atomic.Int64
	spread    atomic.Int64 // accepted on write shards above 0
}

func (c *counted) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	switch {
	case a.Outcome == shard.Throttled:
		c.throttled.Add(1)
	case a.Outcome == shard.Accepted && a.Shard > 0:
		c.spread.Add(1)
	}
	c.Observer.ObserveAttempt(ctx, a)
}

// on sells about 100 orders a second to acme until none was throttled for two seconds on several write shards. It
// returns the sort keys of the orders that were accepted.
func (c *counted) on(ctx context.Context, orders *shardedOrders) (sold []string, err error) {
	var mu sync.Mutex
	var done atomic.Bool
	var group sync.WaitGroup
	for seller := range 10 {
		group.Go(func() {
			for n := 0; !done.Load(); n++ {
				key := shard.Millis.Key(time.Now(), "#", fmt.Sprintf("%d-%d", seller, n))
				failed := orders.Add(ctx, table.Item{"customer": text("acme"), "placed": text(key)})
				mu.Lock()
				switch {
				case failed == nil:
					sold = append(sold, key)
				case !errors.Is(failed, shard.ErrThrottled):
					err = failed
				}
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	quiet := 0
	for second := 0; second < 60 && quiet < 2; second++ {
		before := c.throttled.Load()
		time.Sleep(time.Second)
		if quiet++; c.spread.Load() == 0 || c.throttled.Load() > before {
			quiet = 0
		}
	}
	done.Store(true)
	group.Wait()
	if err == nil && (quiet < 2 || c.throttled.Load() == 0) {
		err = fmt.Errorf("the storm did not end: %d attempts throttled, %d accepted on other write shards", c.throttled.Load(), c.spread.Load())
	}
	return sold, err
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
	orders, err := plain.Of(ctx, customer)
	for _, it := range orders {
		list = append(list, it["placed"].(*types.AttributeValueMemberS).Value)
	}
	return list, err
}

// createOrders creates the table and writes its orders as the plain program does.
func createOrders(ctx context.Context, client *dynamodb.Client, plain *plainOrders) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("placed"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("placed"), KeyType: "RANGE"}},
	})
	if err != nil {
		return err
	}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, time.Minute); err != nil {
		return err
	}
	begin := time.Now().Add(-24 * time.Hour)
	for i := range ofAcme + 10*customers {
		of := "acme"
		if i >= ofAcme {
			of = customer(i % customers)
		}
		key := shard.Millis.Key(begin.Add(time.Duration(i)*time.Second), "#", fmt.Sprint("order-", i))
		if err := plain.Add(ctx, item{"customer": text(of), "placed": text(key)}); err != nil {
			return err
		}
	}
	return nil
}

func customer(i int) string { return fmt.Sprint("customer-", i) }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
