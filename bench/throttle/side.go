package throttle

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
)

// access is the access key of all calls.
const access = "bench"

// side is an endpoint and its calls.
type side struct {
	url    string
	client *http.Client
	calls  atomic.Int64

	processes   []int // of the callers, the engine, and the proxy if there is one
	paced, full spent

	mu   sync.Mutex
	took []time.Duration // counted calls at the rate
}

func newSide(url string, processes ...int) *side {
	return &side{url: url, processes: processes, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}, Timeout: time.Minute}}
}

// send sends a request and returns an error unless the response is a 200.
func (s *side) send(ctx context.Context, operation, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+access+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s at %s: %s %s", operation, s.url, resp.Status, text)
	}
	return err
}

var filler = strings.Repeat("x", 280)

// call makes the next call: a put, an update or a read of one of 1,000 items.
func (s *side) call(ctx context.Context) error {
	n := s.calls.Add(1)
	id := fmt.Sprintf(`{"id":{"S":"key%d"}`, n/3%1000)
	switch n % 3 {
	case 0:
		return s.send(ctx, "PutItem", `{"TableName":"`+table+`","Item":`+id+`,"text":{"S":"`+filler+`"}}}`)
	case 1:
		return s.send(ctx, "UpdateItem", `{"TableName":"`+table+`","Key":`+id+`},"UpdateExpression":"ADD hits :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`)
	}
	return s.send(ctx, "GetItem", `{"TableName":"`+table+`","Key":`+id+`}}`)
}

// pace makes calls at a rate for a time and waits for them. The time of each, from when it was due, and the CPU time
// count if counted is set.
func (s *side) pace(ctx context.Context, rate int, lasting time.Duration, counted bool) error {
	into := &spent{}
	if counted {
		into = &s.paced
	}
	return s.measure(into, func() error {
		group, ctx := errgroup.WithContext(ctx)
		rig.Pace(ctx, lasting, rig.Steady(float64(rate)), func(due time.Time) {
			group.Go(func() error {
				if err := s.call(ctx); err != nil {
					return err
				}
				took := time.Since(due)
				s.mu.Lock()
				defer s.mu.Unlock()
				if counted {
					s.took = append(s.took, took)
				}
				return nil
			})
		})
		return group.Wait()
	})
}

// quantiles returns the median and the 99th percentile in milliseconds.
func (s *side) quantiles() [2]float64 {
	slices.Sort(s.took)
	return [2]float64{rig.Millis(rig.Quantile(s.took, 0.5)), rig.Millis(rig.Quantile(s.took, 0.99))}
}

// saturate has the workers make calls for a time.
func (s *side) saturate(ctx context.Context, lasting time.Duration) error {
	return s.measure(&s.full, func() error {
		end := time.Now().Add(lasting)
		group, ctx := errgroup.WithContext(ctx)
		for range workers {
			group.Go(func() error {
				for time.Now().Before(end) {
					if err := s.call(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	})
}
