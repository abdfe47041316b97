package sessions_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestForeignSessionsAreTakenOver: what somebody else put where a session belongs, and that says
// nothing, is in nobody's way.
func TestForeignSessionsAreTakenOver(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for _, id := range []string{"put", "kept"} {
		pk, sk := schema.SessionKey("g", id, 0)
		d.Foreign(t, pk, sk)
	}
	s := d.sessions(d.Client, shardmap.Unwatched{})
	put(t, s, sessions.Lease{Group: "g", ID: "put", TTL: time.Hour}, wingtest.Later)
	reader := sessions.NewReader(d.Client, d.Names.Items, d.Shards)
	checkActive(t, reader, "g", wingtest.Later, 1)
	for _, id := range []string{"put", "kept"} {
		if err := s.End(wingtest.Within(t), "g", id, wingtest.Later); err != nil {
			t.Errorf("ending %s: %v", id, err)
		}
	}
	checkActive(t, reader, "g", wingtest.Later, 0)
}
