package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/client"
)

// ScanUnits is the default limit of a scan, all segments together, in RCU/s. A partition has 3,000 RCU/s. So a scan
// leaves it at least two thirds, even if the partition has all the items.
const ScanUnits = 1000

const (
	segments  = 4   // of a table, read in parallel
	pageItems = 500 // most items of a page, so that a page alone doesn't consume too many units
)

// Scanner scans tables. All its scans together read at one rate. It is safe for concurrent use.
type Scanner struct {
	client client.Scanner
	pace   *Pace
}

// NewScanner returns a Scanner that reads at most readUnits RCU/s. It uses this machine's clock.
func NewScanner(client client.Scanner, readUnits int) *Scanner {
	return &Scanner{client, NewPace(readUnits)}
}

// Table calls visit, from several goroutines, with the items of each page of a table, read consistently. The items have
// the listed attributes, such as "pk, sk". Table stops at the first error of a read or of visit, and returns it.
func (s *Scanner) Table(ctx context.Context, table, attributes string, visit func(page []Item) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for n := range segments {
		group.Go(func() error {
			if err := s.scanSegment(ctx, table, attributes, int32(n), visit); err != nil {
				return fmt.Errorf("scanning table %s: %w", table, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Scanner) scanSegment(ctx context.Context, table, attributes string, segment int32, visit func(page []Item) error) error {
	names := map[string]string{} // placeholders, since some attributes' names are reserved words
	var projection []string
	for i, name := range strings.Split(attributes, ", ") {
		placeholder := "#a" + strconv.Itoa(i)
		names[placeholder], projection = name, append(projection, placeholder)
	}
	in := &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		ProjectionExpression: aws.String(strings.Join(projection, ", ")), ExpressionAttributeNames: names,
		Segment: &segment, TotalSegments: aws.Int32(segments), Limit: aws.Int32(pageItems),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for page, err := range ScanPages(ctx, s.client, in) {
		if err != nil {
			return err
		}
		if err := visit(page.Items); err != nil {
			return err
		}
		if err := s.pace.Spend(ctx, page.ConsumedCapacity); err != nil {
			return err
		}
	}
	return nil
}
