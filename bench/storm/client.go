package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/bench/lambda"
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

func (c client) send(ctx context.Context, method, path, body string, into any) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
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
func (st *storm) write(ctx context.Context, began time.Time) {
	var answer struct{ Results []struct{ ID string } }
	status, err := st.send(ctx, http.MethodPost, st.Kind.path, st.Kind.body(), &answer)
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
