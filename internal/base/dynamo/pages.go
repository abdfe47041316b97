package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Persistent returns a client that repeats queries as [Persist] does.
func Persistent(db client.Querier) client.Querier { return persistent{db} }

type persistent struct{ client client.Querier }

func (p persistent) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = Persist(ctx, func(ctx context.Context) (err error) {
		out, err = p.client.Query(ctx, in, append(o, NoRetry)...)
		return err
	})
	return out, err
}

// Pages yields the pages of a query. It yields the first error, without a page, and ends.
func Pages(ctx context.Context, db client.Querier, in *dynamodb.QueryInput) iter.Seq2[*dynamodb.QueryOutput, error] {
	return func(yield func(*dynamodb.QueryOutput, error) bool) {
		for pages := dynamodb.NewQueryPaginator(db, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			isLast := err != nil || len(page.LastEvaluatedKey) == 0 // the paginator knows only a nil key
			if !yield(page, err) || isLast {
				return
			}
		}
	}
}

// Items yields the items of a query. It yields the first error, without an item, and ends.
func Items(ctx context.Context, db client.Querier, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range Pages(ctx, db, in) {
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

// ScanPages yields the pages of a table, or of a segment of it. It ends at the first error.
func ScanPages(ctx context.Context, db client.Scanner, in *dynamodb.ScanInput) iter.Seq2[*dynamodb.ScanOutput, error] {
	return func(yield func(*dynamodb.ScanOutput, error) bool) {
		for pages := dynamodb.NewScanPaginator(db, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			isLast := err != nil || len(page.LastEvaluatedKey) == 0 // the paginator knows only a nil key
			if !yield(page, err) || isLast {
				return
			}
		}
	}
}
