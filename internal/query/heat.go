package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// maxHotRows is how many of the hottest keys are told apart while a day's heat items
// are gone through, each about 300 bytes.
const maxHotRows = 10_000

// readHeat merges the windows that start at from or later and before to. A day of a
// table with many stream shards has more heat items than fit into memory, so they are
// read hour by hour, and merged window by window.
func (s *Service) readHeat(ctx context.Context, from, to time.Time) ([]heat.Row, error) {
	merger := heat.Merger{Max: maxHotRows}
	for salts := range slices.Chunk(heat.Partitions(from, to), heat.Salts) {
		var hour []*heatPages
		for _, pk := range salts {
			hour = append(hour, s.heatPages(pk, from, to))
		}
		for {
			items, err := nextWindow(ctx, hour)
			if err != nil {
				return nil, err
			}
			if len(items) == 0 {
				break
			}
			merger.Add(items)
		}
	}
	return merger.Rows(), nil
}

// nextWindow takes the earliest window's items from the front of some partitions,
// none at their end.
func nextWindow(ctx context.Context, partitions []*heatPages) (items []heat.Item, err error) {
	if err := fillAll(ctx, partitions); err != nil {
		return nil, err
	}
	var start time.Time
	for _, p := range partitions {
		if len(p.items) > 0 && (start.IsZero() || p.items[0].Start.Before(start)) {
			start = p.items[0].Start
		}
	}
	for _, p := range partitions {
		for len(p.items) > 0 && p.items[0].Start.Equal(start) {
			items = append(items, p.items[0])
			p.items = p.items[1:]
			if err := p.fill(ctx); err != nil { // a page may end within the window
				return nil, err
			}
		}
	}
	return items, nil
}

func fillAll(ctx context.Context, partitions []*heatPages) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range partitions {
		group.Go(func() error { return p.fill(ctx) })
	}
	return group.Wait()
}

// heatPages reads one partition of heat items, in order of time.
type heatPages struct {
	pk    string
	pages *dynamodb.QueryPaginator
	items []heat.Item // of the page at hand
}

func (s *Service) heatPages(pk string, from, to time.Time) *heatPages {
	low, high := heat.SortBounds(from, to)
	return &heatPages{pk: pk, pages: dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName:              &s.settings.RollupsTable,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":   &types.AttributeValueMemberS{Value: pk},
			":low":  &types.AttributeValueMemberS{Value: low},
			":high": &types.AttributeValueMemberS{Value: high},
		},
	})}
}

// fill reads the next page if none is at hand.
func (p *heatPages) fill(ctx context.Context) error {
	for len(p.items) == 0 && p.pages.HasMorePages() {
		page, err := p.pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading heat items of %q: %w", p.pk, ddb.Kind(err))
		}
		for _, attributes := range page.Items {
			item, err := heat.Parse(attributes)
			if err != nil {
				return err
			}
			p.items = append(p.items, item)
		}
	}
	return nil
}
