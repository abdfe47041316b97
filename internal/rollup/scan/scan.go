// Package scan goes through whole tables at a bounded rate, so that a scan of a table in
// use leaves its capacity to others.
//
//	s := scan.New(client, scan.ReadUnits)
//	err := s.Table(ctx, "hotshard-items", "pk, sk", func(page []map[string]types.AttributeValue) error {
//		return nil // with a page's items, from several goroutines
//	})
//
// Reads are strongly consistent: what was there before it began, and still is, is seen.
package scan

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// ReadUnits is how many read units a second a scan takes by default. A partition has
// 3,000, and four are read at a time: so it leaves each two thirds at least, also where
// all that it reads is on one.
const ReadUnits = 1000

const (
	segments  = 4   // of a table, read at a time
	pageItems = 500 // of a page at most, lest a page alone takes too many units
)

// Client is what a Scanner calls of DynamoDB.
type Client interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Scanner reads tables, all of its scans together within a rate. It is safe for
// concurrent use.
type Scanner struct {
	client Client
	rate   int

	mu   sync.Mutex
	paid time.Time // until when what was read is to last
}

// New returns a Scanner that takes so many read units a second, by this machine's clock.
func New(client Client, readUnits int) *Scanner { return &Scanner{client: client, rate: readUnits} }

// Table calls seen, from several goroutines, for each page of a table, with these
// attributes of its items, and stops at an error of seen's.
func (s *Scanner) Table(ctx context.Context, table, attributes string, seen func([]map[string]types.AttributeValue) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for n := range segments {
		group.Go(func() error {
			if err := s.segment(ctx, table, attributes, int32(n), seen); err != nil {
				return fmt.Errorf("scanning table %s: %w", table, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Scanner) segment(ctx context.Context, table, attributes string, n int32, seen func([]map[string]types.AttributeValue) error) error {
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true), ProjectionExpression: &attributes,
		Segment: &n, TotalSegments: aws.Int32(segments), Limit: aws.Int32(pageItems),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		if err := seen(page.Items); err != nil {
			return err
		}
		if !Wait(ctx, s.spend(page.ConsumedCapacity, time.Now())) {
			return ctx.Err()
		}
	}
	return nil
}

// spend returns for how long what was read, and what others read meanwhile, is to last.
func (s *Scanner) spend(used *types.ConsumedCapacity, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.paid) {
		s.paid = now
	}
	s.paid = s.paid.Add(Lasts(used, s.rate))
	return s.paid.Sub(now)
}

// Lasts is how long consumed units are to last at so many a second; 0 for unknown ones.
func Lasts(used *types.ConsumedCapacity, perSecond int) time.Duration {
	if used == nil || used.CapacityUnits == nil {
		return 0
	}
	return time.Duration(*used.CapacityUnits / float64(perSecond) * float64(time.Second))
}

// Wait is false when the context ended first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
