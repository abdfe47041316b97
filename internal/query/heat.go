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

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/heat"
)

// maxHotRows is how many of the hottest keys are told apart while a day's heat items
// are gone through, each about 300 bytes.
const maxHotRows = 10_000

// maxFull is how many windows are read in full for one answer.
const maxFull = 4

// hottest returns the hottest keys of the windows that start at from or later and before
// to. As many as highlights have are told by these, and those that are hot by all that was
// counted in their hottest windows. More are told by full items.
func (s *Service) hottest(ctx context.Context, from, to time.Time, limit int) ([]heat.Row, error) {
	partitions := heat.Highlights(from, to)
	if limit > heat.MaxHighlights {
		partitions = heat.Partitions(from, to)
	}
	rows, err := s.merged(ctx, partitions, from, to)
	if err != nil {
		return nil, err
	}
	if rows = rows[:min(limit, len(rows))]; limit > heat.MaxHighlights {
		return rows, nil
	}
	for _, start := range hotWindows(rows) {
		items, err := nextWindow(ctx, s.allPages(heat.Partitions(start, start.Add(time.Millisecond)), start, start.Add(time.Millisecond)))
		if err != nil {
			return nil, err
		}
		heat.Refine(rows, items)
	}
	return rows, nil
}

// hotWindows are the starts of the hottest windows of hot keys, the hottest first.
func hotWindows(rows []heat.Row) (starts []time.Time) {
	for _, row := range rows {
		if row.Status >= heat.Hot && len(starts) < maxFull && !slices.ContainsFunc(starts, row.Start.Equal) {
			starts = append(starts, row.Start)
		}
	}
	return starts
}

// merged merges what partitions of heat items or highlights hold. A day of a table with
// many stream shards is more than fits into memory, so they are read hour by hour, and
// merged window by window.
func (s *Service) merged(ctx context.Context, partitions []string, from, to time.Time) ([]heat.Row, error) {
	merger := heat.Merger{Max: maxHotRows}
	for salts := range slices.Chunk(partitions, heat.Salts) {
		hour := s.allPages(salts, from, to)
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

func (s *Service) allPages(partitions []string, from, to time.Time) (all []*heatPages) {
	for _, pk := range partitions {
		all = append(all, s.heatPages(pk, from, to))
	}
	return all
}

func (s *Service) heatPages(pk string, from, to time.Time) *heatPages {
	low, high := heat.SortBounds(from, to)
	return &heatPages{pk: pk, pages: dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName:              &s.settings.HeatTable,
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
			return fmt.Errorf("reading heat items of %q: %w", p.pk, dynamo.Kind(err))
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
