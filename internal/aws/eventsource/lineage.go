package eventsource

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lineage reads the shards of a stream side by side, each after its parent has been read to its
// end. Its methods and functions are called by one goroutine, except for what Start returns.
type Lineage struct {
	// List lists all shards. Children lists at least a parent's children, and may be nil. Both must retry by themselves:
	// their errors end the lineage.
	List     func(ctx context.Context) ([]Shard, error)
	Children func(ctx context.Context, parent string) ([]Shard, error)

	// Start is called before a shard is read, and returns the function that reads it. That function returns the time of
	// the shard's end, or the zero time if it stopped before the end.
	Start func(shard string) func(context.Context) (ended time.Time, err error)

	// Done is called after a shard was read and its children in the next listing were started. So a shard or its children
	// are always in progress.
	Done func(shard string)

	Relist   time.Duration // time between two listings of all shards
	AskAgain time.Duration // time between two requests for the children of ended shards
	MaxAsks  int           // maximum number of requests for a shard's children; after that, only listings of all shards
	Endless  bool          // Run continues after all shards were read and no children are expected

	known  map[string]*branch
	active int
	ends   chan end
	group  *errgroup.Group
	listed time.Time // when all shards were listed
	asked  time.Time // when any shards were listed
}

// fewAsks is the largest number of shards whose children are requested one by one. For more, all shards are listed.
const fewAsks = 3

// branch is a shard of a lineage.
type branch struct {
	Shard
	state state
	asks  int  // number of answered requests for its children since it ended
	gone  bool // the stream no longer lists it
}

type state uint8

const (
	waits    state = iota
	read           // is being read, or was left before its end
	done           // was read to its end
	released       // done, and Done was called
)

type end struct {
	shard string
	at    time.Time
}

// Reset sets the known shards. wasRead reports the shards that were read to their end before.
func (l *Lineage) Reset(list []Shard, wasRead func(Shard) bool) {
	l.known = make(map[string]*branch)
	for _, s := range list {
		l.known[s.ID] = &branch{Shard: s}
		if wasRead(s) {
			l.known[s.ID].state = released
		}
	}
	l.listed, l.asked = time.Now(), time.Now()
}

// Ready returns the shards that may be read now, because their parent was read to its end or is no longer listed.
func (l *Lineage) Ready() (ready []string) {
	for _, b := range l.known {
		parent := l.known[b.Parent]
		if b.state == waits && !b.gone && (parent == nil || parent.gone || parent.state >= done) {
			ready = append(ready, b.ID)
		}
	}
	return ready
}

// Run reads the shards of [Lineage.Reset] and their descendants. It returns nil when nothing is left to read, and an error
// when ctx ends, or when reading or listing fails.
func (l *Lineage) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	l.group, l.ends = group, make(chan end)
	group.Go(func() error { return l.supervise(ctx) })
	return group.Wait()
}

func (l *Lineage) supervise(ctx context.Context) error {
	l.startReady(ctx)
	for l.Endless || l.active > 0 || len(l.known) == 0 || len(l.childless()) > 0 {
		timer := time.NewTimer(time.Until(l.nextListing()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-l.ends:
			l.readerEnded(ctx, e)
		case <-timer.C:
			if err := l.search(ctx); err != nil {
				return err
			}
		}
		timer.Stop()
	}
	return nil
}

// nextListing returns the time of the next listing.
func (l *Lineage) nextListing() time.Time {
	all, some := l.listed.Add(l.Relist), l.asked.Add(l.AskAgain)
	if some.Before(all) && (len(l.known) == 0 || len(l.childless()) > 0) {
		return some
	}
	return all
}

// search lists shards, and starts those that are new and may be read.
func (l *Lineage) search(ctx context.Context) error {
	parents := l.childless()
	all := l.Children == nil || len(parents) == 0 || len(parents) > fewAsks || time.Since(l.listed) >= l.Relist
	list, err := l.list(ctx, parents, all)
	if err != nil {
		return err
	}
	l.asked = time.Now()
	for _, p := range parents {
		p.asks++
	}
	l.noteListed(list, all)
	l.startReady(ctx)
	for id, b := range l.known {
		l.release(b)
		if b.gone && b.state != read {
			delete(l.known, id)
		}
	}
	return nil
}

func (l *Lineage) list(ctx context.Context, parents []*branch, all bool) (list []Shard, err error) {
	if all {
		return l.List(ctx)
	}
	for _, p := range parents {
		children, err := l.Children(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, children...)
	}
	return list, nil
}

// noteListed adds new shards, and marks known ones that a list of all shards lacks.
func (l *Lineage) noteListed(list []Shard, all bool) {
	if all {
		l.listed = l.asked
		for _, b := range l.known {
			b.gone = true
		}
	}
	for _, s := range list {
		if b := l.known[s.ID]; b != nil {
			b.gone = false
		} else {
			l.known[s.ID] = &branch{Shard: s}
		}
	}
}

// childless returns the shards that ended and whose children are still requested.
func (l *Lineage) childless() (list []*branch) {
	parents := make(map[string]bool)
	for _, b := range l.known {
		parents[b.Parent] = true
	}
	for _, b := range l.known {
		if b.state >= done && !parents[b.ID] && b.asks < l.MaxAsks {
			list = append(list, b)
		}
	}
	return list
}

func (l *Lineage) startReady(ctx context.Context) {
	for _, id := range l.Ready() {
		l.known[id].state = read
		l.active++
		readAll := l.Start(id)
		l.group.Go(func() error {
			at, err := readAll(ctx)
			if err != nil {
				return err
			}
			select {
			case l.ends <- end{id, at}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
}

// readerEnded records that a shard is no longer read, and starts its children if it was read to its end.
func (l *Lineage) readerEnded(ctx context.Context, e end) {
	b := l.known[e.shard]
	l.active--
	if e.at.IsZero() {
		l.Done(b.ID)
		return
	}
	b.state = done
	l.startReady(ctx)
	if !slices.Contains(l.childless(), b) { // a shard without known children is kept until the next listing
		l.release(b)
	}
}

// release calls Done for a shard that was read to its end.
func (l *Lineage) release(b *branch) {
	if b.state == done {
		b.state = released
		l.Done(b.ID)
	}
}
