// Command migrate moves a customer's orders, which another library stores under acme_0 to acme_3, to the write shards
// acme#0 to acme#15, while orders come in. Your programs would be deployed once for each phase; this one runs all
// phases in a row:
//
//	write old: 1 order; where the new ones go there is nothing
//	write both: 2 orders; 1 copied, the other was written to both
//	read new: 3 orders; old and new are equal
//	write new: 4 orders; 3 old ones dropped
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
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg, quiet)
	if err := create(ctx, client); err != nil {
		log.Fatal(err)
	}
	moved := migrateOrders(ctx, client)
	_, removed := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("examples-orders")})
	if err := errors.Join(moved, removed); err != nil {
		log.Fatal(err)
	}
}

func migrateOrders(ctx context.Context, client *dynamodb.Client) error {
	made := &dynamodb.DescribeTableInput{TableName: aws.String("examples-orders")}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, made, time.Minute); err != nil {
		return err
	}
	old := table.Table{
		Client: client, Name: "examples-orders", PartitionKey: "customer", SortKey: "placed",
		Format: shard.Underscore, Shards: table.Fixed(4), Layout: table.CalculatedSuffix{},
	}
	sharded := old
	sharded.Format, sharded.Shards = shard.Hash, table.Fixed(16)
	orders := &migrate.Migration{Client: client, From: &old, To: &sharded, Phase: migrate.WriteOld}

	n, err := sell(ctx, orders, 1)
	if err != nil {
		return err
	}
	found, err := orders.Verify(ctx, "acme", table.Span{}, time.Now())
	if err != nil {
		return err
	}
	if !found.Equal() {
		return fmt.Errorf("something is where the new orders go: %v", found.Examples)
	}
	fmt.Printf("write old: %d order; where the new ones go there is nothing\n", n)

	orders.Phase = migrate.WriteBoth
	if n, err = sell(ctx, orders, 2); err != nil {
		return err
	}
	copied, err := orders.Copy(ctx, "acme", table.Span{}, time.Now(), nil)
	if err != nil {
		return err
	}
	fmt.Printf("write both: %d orders; %d copied, the other was written to both\n", n, copied.Changed)

	orders.Phase = migrate.ReadNew
	if n, err = sell(ctx, orders, 3); err != nil {
		return err
	}
	if found, err = orders.Verify(ctx, "acme", table.Span{}, time.Now()); err != nil {
		return err
	}
	if !found.Equal() {
		return fmt.Errorf("old and new differ: %v", found.Examples)
	}
	fmt.Printf("read new: %d orders; old and new are equal\n", n)

	orders.Phase = migrate.WriteNew
	if n, err = sell(ctx, orders, 4); err != nil {
		return err
	}
	dropped, err := orders.Drop(ctx, "acme", table.Span{}, time.Now(), nil)
	if err != nil {
		return err
	}
	fmt.Printf("write new: %d orders; %d old ones dropped\n", n, dropped.Changed)
	return nil
}

// sell puts an order, as programs do in any phase, and counts all orders. The count is consistent, so it includes the
// new order.
func sell(ctx context.Context, orders *migrate.Migration, number int) (int, error) {
	placed := time.Date(2026, 1, 5, 12, 0, number, 0, time.UTC)
	err := orders.Put(ctx, table.Item{
		"customer": &types.AttributeValueMemberS{Value: "acme"},
		"placed":   &types.AttributeValueMemberS{Value: shard.Seconds.Key(placed, "#", fmt.Sprint("order-", number))},
	}, time.Now())
	if err != nil {
		return 0, err
	}
	return orders.Count(ctx, "acme", table.Span{Consistent: true}, time.Now())
}

func create(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("examples-orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("placed"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("placed"), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	return err
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
