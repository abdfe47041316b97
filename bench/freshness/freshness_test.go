package freshness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestIncrementsBecomeVisible checks that a run measures the time of each of its 100 increments.
func TestIncrementsBecomeVisible(t *testing.T) {
	t.Parallel()
	p, w := pace{rate: 50, lasting: 2 * time.Second}, watch{}
	err := rig.With(t.Context(), enginetest.Endpoint(t), func(tables *rig.Tables) error {
		return w.measure(t.Context(), tables, p, 200*time.Millisecond)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.print(t.Output(), 200*time.Millisecond)
	if len(w.took) != 100 || w.took[50] <= 0 {
		t.Errorf("%d increments became visible, want 100: %v", len(w.took), w.took)
	}
}

// TestFoldsDoNotConflict checks that no condition of a fold fails in steady state, with one key on many write
// shards and stream shards. An entity's may if containers change: each has to read what others have folded.
func TestFoldsDoNotConflict(t *testing.T) {
	t.Parallel()
	p := pace{rate: 100, lasting: 2 * time.Second}
	for _, b := range []breadth{
		{kind.Counter, 200, 6, 2, 200 * time.Millisecond},
		{kind.Counter, 200, 6, 0, 200 * time.Millisecond},
		{kind.Event, 200, 6, 2, 200 * time.Millisecond},
		{kind.Event, 200, 6, 0, 200 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s over %d", b.Type, b.Fixed), func(t *testing.T) {
			t.Parallel()
			c, err := b.measure(t.Context(), enginetest.Endpoint(t), p)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d updates, %d failed, %d containers", c.updates, c.failed, len(c.all))
			if c.updates == 0 || b.Fixed > 0 && len(c.all) != b.Fixed {
				t.Errorf("%d updates by %d containers, want some by %d", c.updates, len(c.all), b.Fixed)
			}
			if c.failed > 0 && (b.Type == kind.Counter || b.Fixed > 0) {
				t.Errorf("the conditions of %d folds failed, want none", c.failed)
			}
		})
	}
}

// TestFailedReadIsReported checks the error of a poll without a database. Increments are answered meanwhile, so
// that the race detector sees a count of them without the lock.
func TestFailedReadIsReported(t *testing.T) {
	t.Parallel()
	nowhere := dynamodb.New(dynamodb.Options{BaseEndpoint: aws.String("http://127.0.0.1:1"), Region: "nowhere", Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1})
	view := shardmap.New(nowhere, "map", shardmap.Options{})
	w, over, answers := watch{}, make(chan struct{}), new(errgroup.Group)
	answers.Go(func() error {
		for {
			w.mu.Lock()
			w.answered = append(w.answered[:0], enginetest.Later)
			w.mu.Unlock()
			select {
			case <-over:
				return nil
			default:
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := w.pollSummary(ctx, counters.NewSummaries(nowhere, "items", "rollups", view), nil)
	close(over)
	if failed := answers.Wait(); failed != nil || err == nil || !strings.Contains(err.Error(), "increments are visible") {
		t.Errorf("the poll returned %v, want an error with the number of visible increments; the writer %v", err, failed)
	}
}
