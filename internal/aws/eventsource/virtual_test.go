package eventsource_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

func mustVirtual(t *testing.T, source eventsource.Source, o virtualstream.Options) *virtualstream.Stream {
	t.Helper()
	v, err := virtualstream.New(source, o)
	if err == nil {
		_, err = v.Shards(t.Context())
	}
	require.NoError(t, err)
	return v
}

func throughJSON(t *testing.T, p virtualstream.Plan) (again virtualstream.Plan) {
	t.Helper()
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	require.NoError(t, err)
	return again
}

// TestMappingReadsVirtualStream checks that a mapping delivers the engine's records from stream shards that split and rotate
// between its restarts.
func TestMappingReadsVirtualStream(t *testing.T) {
	h := &recorder{reply: func(events.DynamoDBTimeWindowEvent) (string, error) { return `{}`, nil }}
	b := newBench(t, h)
	o := virtualstream.Options{Shards: 2, Seed: 7, Spread: virtualstream.ByItem}
	source := b.options.Source
	v := mustVirtual(t, source, o)
	var want []string
	for round := range 4 {
		b.options.Source = v
		want = append(want, b.put(t, 50*round, 50*round+50)...)
		b.drain(t)
		require.NoError(t, []func(string) error{v.Split, v.Rotate}[round%2](v.Live()[0]))
		o.Plan = throughJSON(t, v.Plan())
		v = mustVirtual(t, source, o)
	}
	got := h.items()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
	if live := len(v.Live()); live != 4 {
		t.Errorf("%d stream shards are open, want 4", live)
	}
}
