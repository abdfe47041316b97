package dynamo

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard"
)

// CheckNow returns a [shard.ErrMisused] if now is the zero time.
func CheckNow(now time.Time) error {
	if now.IsZero() {
		return fmt.Errorf("%w: now is the zero time; pass time.Now()", shard.ErrMisused)
	}
	return nil
}

// CheckClient returns a [shard.ErrMisused] if a client is nil, or a nil *dynamodb.Client.
func CheckClient(client any) error {
	sdk, isSDK := client.(*dynamodb.Client)
	if client == nil || isSDK && sdk == nil {
		return fmt.Errorf("%w: the DynamoDB client is nil; pass dynamodb.NewFromConfig(config)", shard.ErrMisused)
	}
	return nil
}
