package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
)

// Times of the lineage.
const (
	relist   = 30 * time.Second // all stream shards are listed anew, for what was not listed before
	askAgain = time.Second      // for the children of one that has ended
	maxAsks  = 30               // and then only all are listed
	fewAsks  = 3                // so many are asked for one by one
)

// lineage starts readers of stream shards: children when their parent has ended. Only its own
// goroutine touches it.
type lineage struct {
	r      *Reader
	group  *errgroup.Group
	known  map[string]*branch
	active int
	ended  chan string
}

// branch is a stream shard.
type branch struct {
	listed
	from  place // where to begin; TRIM_HORIZON for all that are found later
	state state
	asks  int // how often its children were asked for in vain, once it has ended
}

type state uint8

const (
	waits state = iota
	read
	done
)

// run goes on until ctx ends.
func (l *lineage) run(ctx context.Context) error {
	list, err := l.r.stream.shards(ctx)
	if err != nil {
		return err
	}
	if err := l.first(ctx, list); err != nil {
		return err
	}
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	relisted := time.Now()
	for {
		if l.active == 0 && len(l.known) > 0 && len(l.childless()) == 0 {
			return errOver
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case id := <-l.ended:
			l.end(ctx, id)
			continue
		case <-tick.C:
		}
		all := time.Since(relisted) >= relist
		if all {
			relisted = time.Now()
		}
		list, err := l.look(ctx, all)
		switch {
		case err == nil:
			l.take(ctx, list)
		case !passing(err) || ctx.Err() != nil:
			return err
		}
		if all && err == nil {
			l.forget(list)
		}
	}
}

// forget drops what has ended and is no longer listed.
func (l *lineage) forget(list []listed) {
	still := make(map[string]bool)
	for _, s := range list {
		still[s.id] = true
	}
	maps.DeleteFunc(l.known, func(id string, b *branch) bool { return b.state == done && !still[id] })
}

// look lists what may be new: all stream shards, or the children of those that have ended.
func (l *lineage) look(ctx context.Context, all bool) (list []listed, err error) {
	parents := l.childless()
	for _, p := range parents {
		p.asks++
	}
	if all || len(parents) > fewAsks || len(l.known) == 0 {
		return l.r.stream.shards(ctx)
	}
	for _, p := range parents {
		children, err := l.r.stream.children(ctx, p.id)
		if err != nil {
			return nil, err
		}
		list = append(list, children...)
	}
	return list, nil
}

// childless are the stream shards that have ended and whose children are still to be found.
func (l *lineage) childless() (list []*branch) {
	parents := make(map[string]bool)
	for _, b := range l.known {
		parents[b.parent] = true
	}
	for _, b := range l.known {
		if b.state == done && !parents[b.id] && b.asks < maxAsks {
			list = append(list, b)
		}
	}
	return list
}

// take starts what is new and can be started: a stream shard waits for its parent.
func (l *lineage) take(ctx context.Context, list []listed) {
	for _, s := range list {
		if l.known[s.id] == nil {
			l.known[s.id] = &branch{listed: s, from: horizon}
		}
	}
	l.startReady(ctx)
}

// startReady starts those whose parent has ended, or is not known: its records are gone.
func (l *lineage) startReady(ctx context.Context) {
	for _, b := range l.known {
		if parent := l.known[b.parent]; b.state == waits && (parent == nil || parent.state == done) {
			l.start(ctx, l.r.newShard(b.id, b.from, ""))
		}
	}
}

func (l *lineage) start(ctx context.Context, s *shard) {
	l.known[s.id].state = read
	l.active++
	l.group.Go(func() error {
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("stream shard %s: %w", s.id, err)
		}
		select {
		case l.ended <- s.id:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// end takes note that a stream shard has been read to its end. Its children are added before
// it is removed, so that there is no moment at which nothing seems to be waited for.
func (l *lineage) end(ctx context.Context, id string) {
	l.known[id].state = done
	l.active--
	l.startReady(ctx)
	l.r.windows.remove(id)
}

// first starts what is there at the beginning.
func (l *lineage) first(ctx context.Context, list []listed) error {
	for _, s := range list {
		l.known[s.id] = &branch{listed: s, from: horizon}
	}
	if l.r.o.Since.IsZero() {
		return l.fromNow(ctx)
	}
	return l.fromThen(ctx, list)
}

// fromNow starts the open stream shards at their end. What is closed already is left out.
// Counting begins with the first whole second after all have their place.
func (l *lineage) fromNow(ctx context.Context) error {
	var roots []*branch
	for _, b := range l.known {
		if b.closed {
			b.state = done
		}
	}
	for _, b := range l.known {
		if parent := l.known[b.parent]; b.state == waits && (parent == nil || parent.state == done) {
			roots = append(roots, b)
		}
	}
	iterators := make([]string, len(roots))
	var group errgroup.Group
	group.SetLimit(MaxCalls)
	for i, b := range roots {
		group.Go(func() (err error) {
			iterators[i], err = l.r.stream.iterator(ctx, b.id, latest)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	begin := l.r.stream.clock.latest(time.Now()).UTC().Truncate(time.Second).Add(time.Second)
	l.r.windows.start(begin)
	for i, b := range roots {
		l.start(ctx, l.r.newShard(b.id, latest, iterators[i]))
	}
	return nil
}

// fromThen starts all stream shards at a time that is over, the first ones first. Where the
// service can't find a time, they start at their oldest record.
func (l *lineage) fromThen(ctx context.Context, list []listed) error {
	since := l.r.o.Since.UTC().Truncate(time.Second)
	from := atTime(since)
	seeks, err := l.r.stream.seeks(ctx, list, since)
	if err != nil {
		return err
	}
	if !seeks {
		from = horizon
		l.r.tell("this service can't find a time in a stream, so it is read from its oldest record, and what is older than %s is left out", since.Format(time.RFC3339))
	}
	if l.r.stream.ofEngine() {
		l.r.tell("DynamoDB Local stamps records to the minute: those of the past are spread evenly over theirs")
	}
	for _, b := range l.known {
		b.from = from
	}
	l.r.windows.start(since)
	l.startReady(ctx)
	return nil
}

// explain says what an error means that ends the reading.
func explain(err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case dynamo.IsThrottle(err):
		return fmt.Errorf("DynamoDB throttles the readers of this stream, so reading stops: others need it (%w)", err)
	}
	return err
}
