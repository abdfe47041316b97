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

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// process is a program that takes part in a migration; its phase changes between its
// calls, as by a deployment.
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

// pause is how long each program of the traffic rests between two calls: in the short run
// the phases have the engine for themselves in part.
var pause = time.Duration(lane.Runs(20, 0)) * time.Millisecond

// traffic is programs that read and write while a migration goes through its phases.
type traffic struct {
	ctx       context.Context
	processes []*process
	name      string
	span      table.Span
	find      bool // items can be found singly
	old       []string

	mu   sync.Mutex
	want map[string]int // by sort key, what was accepted
	ops  int
	seen int // reads of everything
}

func (w *traffic) process() *process { return w.processes[rand.IntN(len(w.processes))] }

// put, and what else changes items, goes to one program, and the next read of the
// item to another.
func (w *traffic) work(worker int, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		at := wingtest.Epoch.Add(time.Duration(rand.IntN(lane.Runs(4, 8))) * time.Hour)
		sort := shard.Millis.Key(at, "#", fmt.Sprintf("w%d-%d", worker, i%lane.Runs(3, 7)))
		if !w.find {
			sort = fmt.Sprintf("%s-%d", sort, i)
		}
		if err := w.step(sort); err != nil {
			return err
		}
	}
}

func (w *traffic) step(sort string) error {
	w.mu.Lock()
	n, there := w.want[sort]
	w.mu.Unlock()
	key := table.Item{"customer": wingtest.Str(w.name), "placed": wingtest.Str(sort)}
	next, gone := n+1, false
	err := w.process().do(func(m *migrate.Migration) error {
		switch k := rand.IntN(6); {
		case k == 0 && w.find:
			next, gone = 0, true
			return m.Delete(w.ctx, key, afterAll)
		case k < 3 && w.find:
			return m.Update(w.ctx, key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": wingtest.Num(1)},
			}, afterAll)
		case !there || w.find:
			it := maps.Clone(key)
			it["n"], it["word"] = wingtest.Num(int64(next)), wingtest.Str("x")
			return m.Put(w.ctx, it, afterAll)
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
	if !w.find {
		return nil
	}
	return w.process().do(func(m *migrate.Migration) error {
		it, err := m.Get(w.ctx, key, afterAll)
		if gone && errors.Is(err, shard.ErrNotFound) {
			return nil
		}
		if err != nil || gone || wingtest.Text(it["n"]) != fmt.Sprint(next) {
			return fmt.Errorf("phase %d: %s reads as %v, %v, want %d (gone: %t)", m.Phase, sort, it, err, next, gone)
		}
		return nil
	})
}

// watch reads everything again and again: in order, each once, and all that was there
// from the beginning.
func (w *traffic) watch(stop <-chan struct{}) error {
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
			w.seen++
			w.mu.Unlock()
			return nil
		})
		if err != nil {
			return err
		}
	}
}

func (w *traffic) read(m *migrate.Migration) (map[string]int, error) {
	got := map[string]int{}
	last := ""
	s := w.span
	s.Consistent = true
	for it, err := range m.Query(w.ctx, w.name, s, afterAll) {
		if err != nil {
			return nil, err
		}
		sort := wingtest.Text(it["placed"])
		if sort <= last {
			return nil, fmt.Errorf("phase %d: %s after %s", m.Phase, sort, last)
		}
		last = sort
		if _, err := fmt.Sscan(wingtest.Text(it["n"]), new(int)); err != nil {
			return nil, fmt.Errorf("%s is half an item: %v", sort, it)
		}
		n := 0
		fmt.Sscan(wingtest.Text(it["n"]), &n)
		got[sort] = n
	}
	return got, nil
}

// enter takes the programs to a phase, one after the other, while they work.
func (w *traffic) enter(phase migrate.Phase) {
	for _, p := range w.processes {
		w.goOn() // both phases do some work
		p.enter(phase)
	}
	w.goOn()
}

// goOn waits for some more writes and a read of everything, unless the traffic has ended
// with an error.
func (w *traffic) goOn() {
	done := func() (writes, reads int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.ops, w.seen
	}
	from, read := done()
	for writes, reads := from, read; (writes < from+lane.Runs(4, 20) || reads == read) && w.ctx.Err() == nil; writes, reads = done() {
		time.Sleep(time.Millisecond)
	}
}
