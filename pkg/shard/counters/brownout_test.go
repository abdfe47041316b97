package counters_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// made is the context's key of the number of increments that the engine made for a call.
type made struct{}

// brownOut is an engine that answers one of 20 updates by a 500. Half of those updates are made.
type brownOut struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (b *brownOut) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.UpdateItem" {
		return dynamolocal.Transport().RoundTrip(r)
	}
	b.mu.Lock()
	fate := b.random.IntN(40)
	b.mu.Unlock()
	if fate == 0 {
		return serverError()
	}
	response, err := dynamolocal.Transport().RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	if n, counted := r.Context().Value(made{}).(*atomic.Int64); counted {
		n.Add(1)
	}
	if fate == 1 {
		_ = response.Body.Close()
		return serverError()
	}
	return response, nil
}

// TestABrownOutCountsNothingTwice sends increments while one of 20 updates is answered by a 500. The sum must be the
// number of made increments. Each call is made at most once, and a call with a 500 is a 503.
func TestABrownOutCountsNothingTwice(t *testing.T) {
	calls := int64(require.Runs(1000, 3000))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := newRig(t)
	r.client = dynamodb.New(r.client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: &brownOut{random: rand.New(rand.NewPCG(seed, 1))}}
	})
	send := posted("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`)(t, r)
	var accepted, failed, unanswered, twice atomic.Int64
	var group errgroup.Group
	group.SetLimit(16)
	for range calls {
		group.Go(func() error {
			var n atomic.Int64
			switch err := send(context.WithValue(libtest.Within(t), made{}, &n)); {
			case err == nil && n.Load() > 0:
				accepted.Add(1)
			case errors.Is(err, shard.ErrUnavailable):
				failed.Add(1)
				unanswered.Add(min(1, n.Load()))
			default:
				t.Errorf("a call was made %d times, with the error %v", n.Load(), err)
			}
			twice.Add(max(0, n.Load()-1))
			return nil
		})
	}
	_ = group.Wait() // errors are counted
	sum, err := counters.NewReader(r.Client, r.Names.Items, r.Shards).Sum(libtest.Within(t), "a")
	require.NoError(t, err)
	t.Logf("%d calls: %d accepted, %d with a 503, of which %d were made; %d made twice; the counter has %v",
		calls, accepted.Load(), failed.Load(), unanswered.Load(), twice.Load(), sum.Value)
	if twice.Load() > 0 || sum.Value.Int64() != accepted.Load()+unanswered.Load() || failed.Load() < calls/40 || failed.Load() > calls/10 {
		t.Error("want no increment made twice, a sum of all made ones, and 503s for 2.5 % to 10 % of the calls")
	}
}
