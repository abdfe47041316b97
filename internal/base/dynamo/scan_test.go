package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// table is a client with this number of pages in each segment. Each page consumes units.
type table struct {
	pages int
	units float64

	mu   sync.Mutex
	read map[string]int
}

func (f *table) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	page := 0
	if in.ExclusiveStartKey != nil {
		_, _ = fmt.Sscan(in.ExclusiveStartKey["pk"].(*types.AttributeValueMemberS).Value, &page)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read[fmt.Sprint(*in.Segment, " ", page)]++
	if in.ExpressionAttributeNames["#a0"] != "pk" || *in.ProjectionExpression != "#a0" {
		return nil, errors.New("a name without a placeholder")
	}
	out := &dynamodb.ScanOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(f.units)}}
	if page++; page < f.pages {
		out.LastEvaluatedKey = map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprint(page)}}
	}
	return out, nil
}

// TestRate checks that concurrent scans read each page once, and together no faster than the rate.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &table{pages: 5, units: 100, read: map[string]int{}}
		s := dynamo.NewScanner(f, 200)
		begun := time.Now()
		var scans sync.WaitGroup
		for range 2 {
			scans.Go(func() {
				if err := s.Table(t.Context(), "t", "pk", func([]map[string]types.AttributeValue) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		scans.Wait()
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("4,000 units at 200 a second took %v, want 20s", took)
		}
		for page, n := range f.read {
			if n != 2 {
				t.Errorf("two scans read page %s %d times, want 2", page, n)
			}
		}
		if len(f.read) != 20 {
			t.Errorf("%d pages were read of 20", len(f.read))
		}
	})
}

// TestEnds checks that a scan ends with an error of the callback, and with its context.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &table{pages: 5, units: 100, read: map[string]int{}}
		wrong := errors.New("wrong")
		if err := dynamo.NewScanner(f, 1).Table(t.Context(), "t", "pk", func([]map[string]types.AttributeValue) error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("got %v, want the callback's error", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := dynamo.NewScanner(f, 1).Table(ctx, "t", "pk", func([]map[string]types.AttributeValue) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}
