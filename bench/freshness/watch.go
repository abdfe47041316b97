package freshness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
)

// watch knows which increments were answered, and looks for them in summaries. It
// is the client through which they are written.
type watch struct {
	*rig.Tables
	keys []rig.Item // of the summaries

	mu          sync.Mutex
	pending     map[string][]increment // by counter's key
	took        []time.Duration        // of those that are visible
	reads       []time.Duration        // that looks took
	first, last time.Time              // answers
}

// increment is one that was answered.
type increment struct {
	rev int64
	at  time.Time // of its answer
}

func newWatch(t *rig.Tables) *watch {
	w := &watch{Tables: t, pending: map[string][]increment{}}
	for _, name := range names {
		w.keys = append(w.keys, rig.Key(schema.SummaryKey(name, 0), schema.SoleSK))
	}
	return w
}

// UpdateItem writes an increment and notes its rev. The only write shard of a
// counter has the same key in its table as the summary in its own.
func (w *watch) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnValues = types.ReturnValueUpdatedNew
	out, err := w.DB.UpdateItem(ctx, &asked, o...)
	if err != nil {
		return out, err
	}
	now := time.Now()
	rev, err := rig.Whole(out.Attributes, "rev")
	if err != nil {
		return out, err
	}
	pk := rig.Text(in.Key[schema.PK])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[pk] = append(w.pending[pk], increment{rev, now})
	if w.first.IsZero() {
		w.first = now
	}
	w.last = now
	return out, nil
}

// look reads all summaries, and notes what has become visible.
func (w *watch) look(ctx context.Context) error {
	begin := time.Now()
	out, err := w.DB.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{w.Names.Rollups: {Keys: w.keys}},
	})
	if err != nil {
		return fmt.Errorf("reading the summaries: %w", err)
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, now.Sub(begin))
	for _, item := range out.Responses[w.Names.Rollups] {
		rev, err := rig.Whole(item, schema.RevAttr(0))
		if err != nil {
			return err
		}
		w.visible(rig.Text(item[schema.PK]), rev, now)
	}
	return nil
}

// visible takes out the increments of a counter up to a rev. The caller holds mu.
func (w *watch) visible(pk string, rev int64, now time.Time) {
	var left []increment
	for _, i := range w.pending[pk] {
		if i.rev > rev {
			left = append(left, i)
		} else {
			w.took = append(w.took, max(0, now.Sub(i.at)))
		}
	}
	w.pending[pk] = left
}

// waiting is how many increments are not visible yet.
func (w *watch) waiting() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.pending {
		n += len(list)
	}
	return n
}
