package storm

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// readEvery is the pause between reads of all events while the storm lasts.
const readEvery = 3 * time.Second

// watch records each second's throttles and, at its end, the key's shard count.
func (st *storm) watch(ctx context.Context, over <-chan struct{}) {
	before := st.throttled()
	for n := range st.seconds {
		select {
		case <-time.After(time.Until(st.began.Add(time.Duration(n+1) * time.Second))):
		case <-over:
			return
		case <-ctx.Done():
			return
		}
		after := st.throttled()
		shards, err := st.shards(ctx)
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
func (st *storm) throttled() int64 { return st.system.Charged().Throttled }

func (st *storm) shards(ctx context.Context) (answer httpapi.ShardCount, err error) {
	status, err := st.send(ctx, http.MethodGet, "/v1/shards?"+url.Values{"type": {string(st.Kind.typ)}, "name": {key}}.Encode(), "", &answer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("reading the shard count: %d", status)
	}
	return answer, err
}

// read reads all events repeatedly during the storm, and counts reads that repeated an event or missed one that was accepted
// before. It ignores reads that found no capacity.
func (st *storm) read(ctx context.Context, over <-chan struct{}) {
	for st.Kind.typ == schema.Event {
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
		found, wrong, err := st.events(ctx)
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
