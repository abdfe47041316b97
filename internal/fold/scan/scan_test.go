package scan_test

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

	"github.com/hotshard/hotshard/internal/fold/scan"
)

// table has pages of each segment, which take so many units each.
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
	out := &dynamodb.ScanOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(f.units)}}
	if page++; page < f.pages {
		out.LastEvaluatedKey = map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: fmt.Sprint(page)}}
	}
	return out, nil
}

// TestRate: all pages are read once, and no faster than the rate, over scans at a time.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &table{pages: 5, units: 100, read: map[string]int{}}
		s := scan.New(f, 200)
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
			t.Errorf("4,000 units at 200 a second took %v", took)
		}
		for page, n := range f.read {
			if n != 2 {
				t.Errorf("page %s was read %d times", page, n)
			}
		}
		if len(f.read) != 20 {
			t.Errorf("%d pages were read of 20", len(f.read))
		}
	})
}

// TestEnds: with an error of the caller's, and with the context.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &table{pages: 5, units: 100, read: map[string]int{}}
		wrong := errors.New("wrong")
		if err := scan.New(f, 1).Table(t.Context(), "t", "pk", func([]map[string]types.AttributeValue) error { return wrong }); !errors.Is(err, wrong) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := scan.New(f, 1).Table(ctx, "t", "pk", func([]map[string]types.AttributeValue) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
