package freshness

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// pool are the containers of the aggregator. Each handles one batch at a time, as
// in Lambda.
type pool struct {
	*tally
	start func() (*rollup.Handler, error)
	// fixed is how many containers share the stream shards, each always the same
	// ones. With 0 a batch goes to the container that was used last of those that
	// are free, or to a new one.
	fixed int

	gate sync.RWMutex // is held for reading while a batch is handled

	mu    sync.Mutex
	all   []*container
	free  []*container // the one used last at the end
	homes map[int]*container
}

type container struct {
	sync.Mutex
	handler *rollup.Handler
}

// Invoke hands a batch to a container.
func (p *pool) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, err
	}
	p.gate.RLock()
	defer p.gate.RUnlock()
	if err := p.batch(batch); err != nil {
		return nil, err
	}
	c, err := p.take(batch.ShardID)
	if err != nil {
		return nil, err
	}
	defer p.release(c)
	c.Lock()
	defer c.Unlock()
	return c.handler.Invoke(ctx, payload)
}

func (p *pool) take(streamShard string) (*container, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fixed > 0 {
		hash := fnv.New32a()
		hash.Write([]byte(streamShard))
		return p.home(int(hash.Sum32()) % p.fixed)
	}
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c, nil
	}
	return p.add()
}

func (p *pool) home(n int) (c *container, err error) {
	if p.homes == nil {
		p.homes = map[int]*container{}
	}
	if p.homes[n] == nil {
		p.homes[n], err = p.add()
	}
	return p.homes[n], err
}

func (p *pool) add() (*container, error) {
	handler, err := p.start()
	c := &container{handler: handler}
	p.all = append(p.all, c)
	return c, err
}

func (p *pool) release(c *container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fixed == 0 {
		p.free = append(p.free, c)
	}
}

// tally counts what batches ask for and what containers do.
type tally struct {
	mu sync.Mutex
	figures
}

// figures are those of a tally.
type figures struct {
	Records int `json:"records"`
	Batches int `json:"batches"`
	Items   int `json:"summary_items"` // distinct, in each batch anew
	Updates int `json:"updates"`
	Failed  int `json:"failed_conditions"` // of them
}

// update counts an update.
func (t *tally) update(_ *dynamodb.UpdateItemInput, _ float64, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Updates++
	if failed {
		t.Failed++
	}
}

// batch counts what a batch is about.
func (t *tally) batch(b *ddbstream.Batch) error {
	if len(b.Records) == 0 {
		return nil // a window's end
	}
	items := map[[2]string]bool{}
	for i := range b.Records {
		item, err := itemOf(&b.Records[i], b.ShardID)
		if err != nil {
			return err
		}
		items[item] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Batches++
	t.Records += len(b.Records)
	t.Items += len(items)
	return nil
}

// itemOf is the key of the summary item that a record folds into.
func itemOf(r *ddbstream.Record, streamShard string) (key [2]string, err error) {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	parsed, err := schema.ParseKey(pk)
	if err != nil {
		return key, fmt.Errorf("record %s: %w", r.Sequence, err)
	}
	if parsed.Base.Type == schema.Counter {
		return [2]string{schema.SummaryKey(parsed.Base.Name, parsed.Shard)}, nil
	}
	at, _, err := schema.ParseEventSortKey(sk)
	key[0], key[1] = schema.RollupKey(parsed.Base.Name, shard.Hour, at, streamShard)
	return key, err
}

// now returns the figures so far, between batches.
func (p *pool) now() figures {
	p.gate.Lock()
	defer p.gate.Unlock()
	return p.figures
}
