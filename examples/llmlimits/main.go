// Command llmlimits limits the calls of a language model, to three a day and 1,000 tokens a minute for each user. A call takes the
// most tokens that it may use, and gives back what it didn't use:
//
//	150 of 600 tokens used, 850 left
//	550 of 600 tokens used, 300 left
//	tokens/ann: try again in 1m0s
//	1 call is left today
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := callModel(ctx, dynamodb.NewFromConfig(cfg, quiet), time.Now().Truncate(time.Minute)); err != nil {
		log.Fatal(err)
	}
}

func callModel(ctx context.Context, client *dynamodb.Client, now time.Time) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	limiter := limits.New(client, names.Items, shardmap.New(client, names.ShardMap, shardmap.Options{}), limits.Options{})
	calls := limits.Limit{Key: "calls/ann", Max: 3, Window: 24 * time.Hour}
	tokens := limits.Limit{Key: "tokens/ann", Max: 1000, Window: time.Minute}
	const most = 600 // tokens of a call

	for _, used := range []int64{150, 550, 100} {
		verdicts, err := limiter.HitAll(ctx, []limits.Hits{{Limit: calls, N: 1}, {Limit: tokens, N: most}}, now)
		if err != nil {
			return err
		}
		if v := verdicts[1]; !v.Allowed {
			fmt.Println("tokens/ann: try again in", v.Retry.Sub(now))
			continue
		}
		left, err := limiter.HitN(ctx, tokens, used-most, now) // after the model's answer
		if err != nil {
			return err
		}
		fmt.Println(used, "of", most, "tokens used,", left.Remaining, "left")
	}
	v, err := limiter.Peek(ctx, calls, now)
	fmt.Println(v.Remaining, "call is left today")
	return err
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
