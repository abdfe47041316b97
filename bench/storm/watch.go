package storm

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// readEvery is the pause between reads of all events while the storm lasts.
const readEvery = 3 * time.Second

// watch records each second's throttles and, at its end, the first key's shard count.
func (st *storm) watch(ctx context.Context, over <-chan struct{}) {
	before := throttled(st.system)
	for n := range st.seconds {
		select {
		case <-time.After(time.Until(st.began.Add(time.Duration(n+1) * time.Second))):
		case <-over:
			return
		case <-ctx.Done():
			return
		}
		after := throttled(st.system)
		shards, err := st.shardsOf(ctx, st.keys[0])
		st.mu.Lock()
		st.seconds[n].Throttled = after - before
		if err == nil { // a call that found no container counts as 0
			st.seconds[n].Shards = shards.Shards
		}
		st.mu.Unlock()
		before = after
	}
}

// throttled returns the number of attempts that the limiter has throttled.
func throttled(running *system.System) (n int64) {
	for _, o := range running.Charged().Operations {
		n += o.ThrottledRequests + o.ThrottledItems
	}
	return n
}

func (st *storm) shardsOf(ctx context.Context, key string) (answer httpapi.ShardCount, err error) {
	status, err := st.send(ctx, http.MethodGet, "/v1/shards?"+url.Values{"type": {string(st.Kind.typ)}, "name": {key}}.Encode(), "", &answer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("reading the shard count: %d", status)
	}
	return answer, err
}

// grownKeys returns all keys with more than one write shard.
func (st *storm) grownKeys(ctx context.Context) (list []httpapi.ShardCount, err error) {
	for cursor := ""; ; {
		var page struct {
			Keys   []httpapi.ShardCount
			Cursor string
		}
		if err := st.mustSend(ctx, http.MethodGet, "/v1/shards?cursor="+url.QueryEscape(cursor), "", &page); err != nil {
			return nil, err
		}
		for _, k := range page.Keys {
			if k.Max > 1 {
				list = append(list, k)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return list, nil
		}
	}
}

// read reads all events repeatedly during the storm, and counts reads that repeated an event or missed one that was accepted
// before. It ignores reads that found no capacity.
func (st *storm) read(ctx context.Context, over <-chan struct{}) {
	for st.Kind.typ == kind.Event {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-time.After(readEvery):
		}
		st.mu.Lock()
		before := maps.Clone(st.ids)
		st.mu.Unlock()
		found, wrong, err := st.events(ctx, st.keys[0])
		for id := range before {
			wrong = wrong || !found[id]
		}
		if err == nil && wrong {
			st.mu.Lock()
			st.misread++
			st.mu.Unlock()
		}
	}
}
