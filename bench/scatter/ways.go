package scatter

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// way reads all sort keys in order.
type way struct {
	name string
	read func(ctx context.Context, s *store) ([]string, error)
}

var ways = []way{
	{"hotshard, merged stream", merged},
	{"sequential loop, bare SDK, sorted", sequential},
	{"guregu/dynamo, sequential, sorted", func(ctx context.Context, s *store) ([]string, error) { return guregu(ctx, s, 1) }},
	{"guregu/dynamo, parallel, sorted", func(ctx context.Context, s *store) ([]string, error) { return guregu(ctx, s, 16) }},
}

// order is an item as all ways decode it.
type order struct {
	PK   string `dynamo:"pk"`
	SK   string `dynamo:"sk"`
	Data string `dynamo:"data"`
}

func decode(it table.Item) order {
	return order{rig.Text(it["pk"]), rig.Text(it["sk"]), rig.Text(it["data"])}
}

func merged(ctx context.Context, s *store) ([]string, error) {
	var keys []string
	for it, err := range s.table().Query(ctx, "acme", table.Span{}, time.Now()) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, decode(it).SK)
	}
	return keys, nil
}

func sequential(ctx context.Context, s *store) ([]string, error) {
	var keys []string
	for n := range s.n {
		pages := dynamodb.NewQueryPaginator(s.Meter.Client, &dynamodb.QueryInput{
			TableName: &s.Names.Rollups, KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: table.Item{":pk": rig.S(shard.Hash.Join("acme", n))},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, it := range page.Items {
				keys = append(keys, decode(it).SK)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// guregu reads so many write shards at a time.
func guregu(ctx context.Context, s *store, parallel int) ([]string, error) {
	table := dynamo.NewFromIface(s.Meter.Client).Table(s.Names.Rollups)
	parts := make([][]order, s.n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for n := range parts {
		group.Go(func() error { return table.Get("pk", shard.Hash.Join("acme", n)).All(ctx, &parts[n]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var keys []string
	for _, part := range parts {
		for _, o := range part {
			keys = append(keys, o.SK)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
