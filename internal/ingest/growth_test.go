package ingest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// crowded is a client whose updates of one partition key are throttled.
type crowded struct {
	*dynamodb.Client
	pk string
}

func (c *crowded) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if dynamo.Text(in.Key, "pk") == c.pk {
		return nil, errThrottled
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

func (r *rig) shardMap() *shardmap.Changer {
	return libtest.Patient(shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
}

// TestControl checks that a throttled counter grows under growth.Act, is only logged under Observe, and neither under
// Off. The log has the key in the style of MetricNames.
func TestControl(t *testing.T) {
	for _, c := range []struct {
		control growth.Control
		names   display.Style
		want    string
	}{
		{growth.Act, display.Plain, "msg=grown key=C#hot shards=4"},
		{growth.Act, display.Hashed, "msg=grown key=" + display.Pseudonym("C#hot") + " shards=4"},
		{growth.Act, display.Unnamed, `msg=grown key="" shards=4`},
		{growth.Observe, display.Plain, `msg="would grow" key=C#hot shards=4`},
		{growth.Off, display.Plain, ""},
	} {
		r := newRig(t)
		r.use(&crowded{r.client, "C#hot#0"}, func(s *Settings) { s.Control, s.MetricNames = c.control, c.names })
		r.service.settings.Deadline = 500 * time.Millisecond
		grown := func() bool { return c.control != growth.Act || strings.Contains(r.log.String(), "msg=grown") }
		for n := 0; n < 4 || n < 50 && !grown(); n++ { // on a busy machine a change may exceed its second
			r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`)
		}
		entry, err := r.shardMap().Read(t.Context(), "C#hot")
		if got := r.log.String(); err != nil || (entry.Version > 0) != (c.control == growth.Act) ||
			!strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "grow") {
			t.Errorf("%+v: the entry has version %d, %v; log:\n%s", c, entry.Version, err, got)
		}
	}
}
