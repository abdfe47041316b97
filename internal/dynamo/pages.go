package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Persistent is a client whose queries are repeated as [Persist] repeats.
func Persistent(client Querier) Querier { return persistent{client} }

type persistent struct{ client Querier }

func (p persistent) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = Persist(ctx, func(ctx context.Context) (err error) {
		out, err = p.client.Query(ctx, in, append(o, NoRetry)...)
		return err
	})
	return out, err
}

// Pages goes through a query page by page. After an error there is no more.
func Pages(ctx context.Context, client Querier, in *dynamodb.QueryInput) iter.Seq2[*dynamodb.QueryOutput, error] {
	return func(yield func(*dynamodb.QueryOutput, error) bool) {
		for pages := dynamodb.NewQueryPaginator(client, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if !yield(page, err) || err != nil || len(page.LastEvaluatedKey) == 0 { // the paginator ends at a nil key alone
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
			if !yield(page, err) || err != nil || len(page.LastEvaluatedKey) == 0 { // the paginator ends at a nil key alone
				return
			}
		}
	}
}
