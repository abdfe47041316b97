package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// process is a running copy of a program. Its phase changes between calls, as in a deployment.
type process struct {
	mu sync.RWMutex
	m  migrate.Migration
}

func (p *process) do(call func(m *migrate.Migration) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return call(&p.m)
}

func (p *process) enter(phase migrate.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m.Phase = phase
}

// pause is each program's pause between two calls. In the short run it leaves capacity for the copies.
var pause = time.Duration(lane.Runs(20, 0)) * time.Millisecond

// traffic has the processes that read and write while a migration goes through its phases.
type traffic struct {
	ctx       context.Context
	processes []*process
	name      string
	span      table.Span
	lookup    bool     // both layouts find single items
	old       []string // sort keys of the items before the migration

	mu    sync.Mutex
	want  map[string]int // accepted values by sort key
	ops   int
	reads int // complete reads
}

func (w *traffic) process() *process { return w.processes[rand.IntN(len(w.processes))] }

// writeItems changes random items until stop is closed. One process writes an item, and another one reads it back.
func (w *traffic) writeItems(worker int, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		at := libtest.Epoch.Add(time.Duration(rand.IntN(lane.Runs(4, 8))) * time.Hour)
		sort := shard.Millis.Key(at, "#", fmt.Sprintf("w%d-%d", worker, i%lane.Runs(3, 7)))
		if !w.lookup {
			sort = fmt.Sprintf("%s-%d", sort, i)
		}
		if err := w.step(sort); err != nil {
			return err
		}
	}
}

// step makes one write and reads the item back.
func (w *traffic) step(sort string) error {
	w.mu.Lock()
	n, exists := w.want[sort]
	w.mu.Unlock()
	key := table.Item{"customer": libtest.Str(w.name), "placed": libtest.Str(sort)}
	next, gone := n+1, false
	err := w.process().do(func(m *migrate.Migration) error {
		switch k := rand.IntN(6); {
		case k == 0 && w.lookup:
			next, gone = 0, true
			return m.Delete(w.ctx, key, callTime)
		case k < 3 && w.lookup:
			_, err := m.Update(w.ctx, key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
			}, callTime)
			return err
		case !exists || w.lookup:
			it := maps.Clone(key)
			it["n"], it["word"] = libtest.Num(int64(next)), libtest.Str("x")
			return m.Put(w.ctx, it, callTime)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", sort, err)
	}
	w.mu.Lock()
	w.ops++
	if w.want[sort] = next; gone {
		delete(w.want, sort)
	}
	w.mu.Unlock()
	if !w.lookup {
		return nil
	}
	return w.process().do(func(m *migrate.Migration) error {
		it, err := m.Get(w.ctx, key, callTime)
		if gone && errors.Is(err, shard.ErrNotFound) {
			return nil
		}
		if err != nil || gone || libtest.Text(it["n"]) != fmt.Sprint(next) {
			return fmt.Errorf("phase %d: Get of %s = %v, %v; want n = %d, deleted: %t", m.Phase, sort, it, err, next, gone)
		}
		return nil
	})
}

// checkReads reads all items repeatedly. It checks their order, that each occurs once, and that no old item is missing.
// It returns when stop is closed.
func (w *traffic) checkReads(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(2 * pause):
		}
		err := w.process().do(func(m *migrate.Migration) error {
			got, err := w.read(m)
			if err != nil {
				return err
			}
			for _, sort := range w.old {
				if _, ok := got[sort]; !ok {
					return fmt.Errorf("phase %d: %s is missing", m.Phase, sort)
				}
			}
			w.mu.Lock()
			w.reads++
			w.mu.Unlock()
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// read returns all items' n by sort key.
func (w *traffic) read(m *migrate.Migration) (map[string]int, error) {
	got := map[string]int{}
	last := ""
	s := w.span
	s.Consistent = true
	for it, err := range m.Query(w.ctx, w.name, s, callTime) {
		if err != nil {
			return nil, err
		}
		sort := libtest.Text(it["placed"])
		if sort <= last {
			return nil, fmt.Errorf("phase %d: %s after %s", m.Phase, sort, last)
		}
		last = sort
		n := 0
		if _, err := fmt.Sscan(libtest.Text(it["n"]), &n); err != nil {
			return nil, fmt.Errorf("%s lacks attributes: %v", sort, it)
		}
		got[sort] = n
	}
	return got, nil
}

// enter changes the processes' phase one after another, while they work.
func (w *traffic) enter(phase migrate.Phase) {
	for _, p := range w.processes {
		w.waitForCalls() // while processes are in both phases
		p.enter(phase)
	}
	w.waitForCalls()
}

// waitForCalls waits for some writes and a complete read. It returns early if the traffic failed.
func (w *traffic) waitForCalls() {
	counts := func() (writes, reads int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.ops, w.reads
	}
	firstWrites, firstReads := counts()
	for writes, reads := firstWrites, firstReads; (writes < firstWrites+lane.Runs(4, 20) || reads == firstReads) && w.ctx.Err() == nil; writes, reads = counts() {
		time.Sleep(time.Millisecond)
	}
}
