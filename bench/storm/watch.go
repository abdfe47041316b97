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

// watch notes each second what the limiter refused in it, and the shard count of the
// first key at its end, and has it grow by one where the scenario says so.
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
		if err == nil { // one that found no container shows as 0
			st.seconds[n].Shards = shards.Shards
		}
		st.mu.Unlock()
		if st.ByOne && after > before && err == nil {
			body := fmt.Sprintf(`{"type":%q,"name":%q,"shards":%d}`, st.Kind.typ, st.keys[0], shards.Shards+1)
			_, _ = st.send(ctx, http.MethodPut, "/v1/shards", body, nil) // one that fails comes again
		}
		before = after
	}
}

// throttled are the attempts that the limiter refused so far.
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

// grownKeys are all keys that the shard map holds with more than one write shard.
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

// read reads all events again and again while the storm lasts, and counts the
// reads that missed an event accepted before they began, or gave one twice. One that
// finds no capacity counts as neither.
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
