package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/aws/lambda"
)

// client calls the API.
type client struct {
	api  string
	http *http.Client
}

func newClient(api string) client {
	return client{api, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}, Timeout: 30 * time.Second}}
}

// noContainer is the status that send returns instead of 429 for a call that found no container.
const noContainer = -http.StatusTooManyRequests

func (c client) send(ctx context.Context, method, path, body string, into any, headers ...string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	status = response.StatusCode
	if response.Header.Get(lambda.ErrorHeader) == lambda.TooManyRequests {
		status = noContainer
	}
	if into == nil {
		into = new(json.RawMessage)
	}
	return status, json.NewDecoder(response.Body).Decode(into)
}

// mustSend is send for calls that are not part of the storm. It retries while capacity is exhausted, and returns an error
// for any other status than 200.
func (c client) mustSend(ctx context.Context, method, path, body string, into any) error {
	var status int
	var err error
	for range 20 {
		status, err = c.send(ctx, method, path, body, into)
		if status == http.StatusOK {
			return err
		}
		if status != noContainer && status != http.StatusTooManyRequests {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("%s %s: status %d, %w", method, path, status, err)
}

// write sends a write, and counts its result in the second in which it began.
func (st *storm) write(ctx context.Context, key string, began time.Time) {
	n := st.writes.Add(1)
	var headers []string
	if st.Kind.call {
		headers = []string{"Idempotency-Key", "storm-" + strconv.FormatInt(n, 10)}
	}
	var answer struct{ Results []struct{ ID string } }
	body := st.Kind.body(key, n, st.began, began.Sub(st.began))
	status, err := st.send(ctx, http.MethodPost, st.Kind.path, body, &answer, headers...)
	if ctx.Err() != nil {
		return // the run was cancelled
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.second(began)
	s.Offered++
	switch status {
	case http.StatusOK:
		s.Accepted++
		if st.Kind.path == event.path {
			st.ids[answer.Results[0].ID] = true
		}
	case http.StatusTooManyRequests:
		s.Refused++
	case noContainer:
		s.NoContainer++
	default:
		s.Other++
		st.others[fmt.Sprint(status, " ", err)]++
	}
}

// writeQuiet sends a write to a quiet key.
func (st *storm) writeQuiet(ctx context.Context, key string, began time.Time) {
	status, _ := st.send(ctx, http.MethodPost, counter.path, increment(key, 0, began, 0), nil) // with an error the status is not 200
	if ctx.Err() != nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.second(began)
	s.QuietOffered++
	if status != http.StatusOK {
		s.QuietRefused++
	}
}
