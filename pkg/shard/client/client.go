// Package client has interfaces for the DynamoDB operations that the library calls. A *dynamodb.Client implements all
// interfaces; a test or wrapper implements those of the packages that it is for.
package client

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Each interface has one operation of DynamoDB, except TableMaker. Callers compose them:
//
//	type Client interface {
//		client.Getter
//		client.Updater
//	}
type (
	// Getter calls GetItem.
	Getter interface {
		GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	}
	// Putter calls PutItem.
	Putter interface {
		PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	}
	// Updater calls UpdateItem.
	Updater interface {
		UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	}
	// Deleter calls DeleteItem.
	Deleter interface {
		DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	}
	// Querier calls Query.
	Querier interface {
		Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	}
	// Scanner calls Scan.
	Scanner interface {
		Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	}
	// BatchGetter calls BatchGetItem.
	BatchGetter interface {
		BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	}
	// BatchWriter calls BatchWriteItem.
	BatchWriter interface {
		BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	}
	// TableMaker creates tables and enables TTL on them.
	TableMaker interface {
		dynamodb.DescribeTableAPIClient
		CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
		DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
		UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	}
	// Transactor calls TransactWriteItems.
	Transactor interface {
		TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	}
)
