package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Pages goes through a query page by page. After an error there is no more.
func Pages(ctx context.Context, client Querier, in *dynamodb.QueryInput) iter.Seq2[*dynamodb.QueryOutput, error] {
	return func(yield func(*dynamodb.QueryOutput, error) bool) {
		for pages := dynamodb.NewQueryPaginator(client, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// Items goes through a query item by item. After an error there is no more.
func Items(ctx context.Context, client Querier, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range Pages(ctx, client, in) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// ScanPages goes through a table, or a segment of it, page by page. After an error there
// is no more.
func ScanPages(ctx context.Context, client Scanner, in *dynamodb.ScanInput) iter.Seq2[*dynamodb.ScanOutput, error] {
	return func(yield func(*dynamodb.ScanOutput, error) bool) {
		for pages := dynamodb.NewScanPaginator(client, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}
