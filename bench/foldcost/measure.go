package foldcost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/limiter"
)

// faultEvery: of so many batches one is delivered twice and one again, later.
const faultEvery = 20

// anyBatch is how many records are handed at a time to a way to which it makes no
// difference.
const anyBatch = 500

// cost is what a way took for a load.
type cost struct {
	records  int
	units    float64
	calls    int   // updates and transactions
	failed   int   // of them, by their condition
	distinct int   // summary items, in each batch anew
	off      int64 // by how much the total of all summaries is too high
}

// job is one way at work on one load, on tables of its own behind the limiter.
type job struct {
	load
	way
	*rig.Tables
	*rig.Updates
	container folder

	mu     sync.Mutex
	calls  int // that write a summary
	failed int // of them, by their condition
}

// count counts a call.
func (j *job) count(failed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls++
	if failed {
		j.failed++
	}
}

// measure folds a load's records in one way.
func measure(ctx context.Context, endpoint string, l load, y way) (c cost, err error) {
	t, err := rig.NewTables(ctx, endpoint, limiter.Options{})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	j := &job{load: l, way: y, Tables: t}
	j.Updates = &rig.Updates{Client: t.Meter.Client, Note: func(_ *dynamodb.UpdateItemInput, failed bool) { j.count(failed) }}
	t.Meter.Limits.Reset()
	if c, err = j.fold(ctx, l.draw()); err != nil {
		return c, fmt.Errorf("%s: %w", y.name, err)
	}
	total, err := t.Folded(ctx)
	c.off = total - int64(c.records)
	return c, err
}

// fold delivers all batches.
func (j *job) fold(ctx context.Context, list []record) (c cost, err error) {
	if err := j.start(); err != nil {
		return c, err
	}
	size := cmp.Or(j.batch, anyBatch)
	for i := 0; i*size < len(list); i++ {
		batch := list[i*size : min((i+1)*size, len(list))]
		c.distinct += j.distinct(batch)
		if err := j.container.fold(ctx, batch); err != nil {
			return c, err
		}
		if j.faults {
			if err := j.again(ctx, i, batch); err != nil {
				return c, err
			}
		}
	}
	c.records, c.units, c.calls, c.failed = len(list), j.Meter.Limits.Stats().WriteUnits, j.calls, j.failed
	return c, nil
}

func (j *job) start() (err error) {
	j.container, err = j.begin(j)
	return err
}

// again delivers a batch again if it is its turn: to the same container, or to a
// new one that goes on from there.
func (j *job) again(ctx context.Context, i int, batch []record) error {
	switch i % faultEvery {
	case faultEvery/2 - 1:
	case faultEvery - 1:
		if err := j.start(); err != nil {
			return err
		}
	default:
		return nil
	}
	return j.container.fold(ctx, batch)
}
