package shardmap

import (
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// hung is a enginetest.MapTable that counts its queries. The next hanging ones don't return before the caller's deadline.
type hung struct {
	*enginetest.MapTable
	made, hanging atomic.Int64
}

func (h *hung) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	h.made.Add(1)
	if h.hanging.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.MapTable.Query(ctx, in, o...)
}
