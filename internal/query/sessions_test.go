package query

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestActiveSessions checks that only the sessions that have not ended count.
func TestActiveSessions(t *testing.T) {
	r := newRig(t)
	writer := sessions.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), sessions.Options{})
	const group = "shop/ü#1&b"
	for i := range 7 {
		now := r.now
		if i%2 == 1 {
			now = now.Add(-2 * time.Second) // it has ended
		}
		_, err := writer.Put(t.Context(), sessions.Lease{Group: group, ID: fmt.Sprint(i), TTL: time.Second + time.Hour*time.Duration((i+1)%2)}, now)
		require.NoError(t, err)
	}
	for name, want := range map[string]int{group: 4, "nobody's": 0} {
		var out struct{ Active *int }
		if status := r.get("/v1/sessions?group="+url.QueryEscape(name), &out); status != 200 || out.Active == nil || *out.Active != want {
			t.Errorf("%s: %d, %v", name, status, out.Active)
		}
	}
	for _, query := range []string{"", "group=", "group=%00", "group=a&group=b"} {
		if status := r.get("/v1/sessions?"+query, nil); status != 422 {
			t.Errorf("%q: %d", query, status)
		}
	}
}
