package eventsource

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lineage reads the shards of a stream concurrently, each after its parent has been read to its
// end. One goroutine calls its methods and functions; only the functions that Start returns run concurrently.
type Lineage struct {
	// List lists all shards. Children lists at least a parent's children, and may be nil. Both must retry by
	// themselves: their errors end the lineage.
	List     func(ctx context.Context) ([]Shard, error)
	Children func(ctx context.Context, parent string) ([]Shard, error)

	// Start is called before a shard is read, and returns the function that reads it. That function returns the time of
	// the shard's end, or the zero time if it stopped before the end.
	Start func(shard string) func(context.Context) (ended time.Time, err error)

	// Done is called when a shard is no longer read. If it was read to its end, the children that are known, or else
	// those in the next listing, were started before. So at any time the shard or its children are in progress.
	Done func(shard string)

	Relist   time.Duration // time between two listings of all shards
	AskAgain time.Duration // time between two requests for the children of ended shards
	MaxAsks  int           // maximum number of requests for a shard's children; after that, only listings of all shards
	Endless  bool          // Run continues after all shards were read and no children are expected

	known  map[string]*lineageShard
	active int
	ends   chan shardEnd
	group  *errgroup.Group
	listed time.Time // when all shards were last listed
	asked  time.Time // when any shards were last listed
}

// fewAsks is the largest number of shards whose children are requested one by one. For more, all shards are listed.
const fewAsks = 3

// lineageShard is a shard of a lineage.
type lineageShard struct {
	Shard
	state    state
	requests int  // number of answered requests for its children since it ended
	unlisted bool // the stream no longer lists it
}

type state uint8

const (
	waiting    state = iota
	reading          // is being read, or was left before its end
	readToEnd        // was read to its end
	doneCalled       // done, and Done was called
)

type shardEnd struct {
	shard string
	at    time.Time
}

// Reset sets the known shards. wasRead reports whether a shard was read to its end before.
func (l *Lineage) Reset(list []Shard, wasRead func(Shard) bool) {
	l.known = make(map[string]*lineageShard)
	for _, s := range list {
		l.known[s.ID] = &lineageShard{Shard: s}
		if wasRead(s) {
			l.known[s.ID].state = doneCalled
		}
	}
	l.listed, l.asked = time.Now(), time.Now()
}

// Ready returns the shards that may be read now, because their parent was read to its end or is no longer listed.
func (l *Lineage) Ready() (ready []string) {
	for _, s := range l.known {
		parent := l.known[s.Parent]
		parentEnded := parent == nil || parent.unlisted || parent.state >= readToEnd
		if s.state == waiting && !s.unlisted && parentEnded {
			ready = append(ready, s.ID)
		}
	}
	return ready
}

// Run reads the shards of [Lineage.Reset] and their descendants. Unless Endless, it returns nil when shards are known
// and nothing is left to read. It returns an error when ctx ends, or when reading or listing fails.
func (l *Lineage) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	l.group, l.ends = group, make(chan shardEnd)
	group.Go(func() error { return l.coordinate(ctx) })
	return group.Wait()
}

func (l *Lineage) coordinate(ctx context.Context) error {
	l.startReady(ctx)
	for l.Endless || l.active > 0 || len(l.known) == 0 || len(l.withoutChildren()) > 0 {
		timer := time.NewTimer(time.Until(l.nextListing()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-l.ends:
			l.readerEnded(ctx, e)
		case <-timer.C:
			if err := l.listAndStart(ctx); err != nil {
				return err
			}
		}
		timer.Stop()
	}
	return nil
}

// nextListing returns the time of the next listing: after Relist, or after AskAgain if new shards are expected.
func (l *Lineage) nextListing() time.Time {
	relist, askAgain := l.listed.Add(l.Relist), l.asked.Add(l.AskAgain)
	expectsShards := len(l.known) == 0 || len(l.withoutChildren()) > 0
	if expectsShards && askAgain.Before(relist) {
		return askAgain
	}
	return relist
}

// listAndStart lists shards, and starts new shards that may be read.
func (l *Lineage) listAndStart(ctx context.Context) error {
	parents := l.withoutChildren()
	few := len(parents) > 0 && len(parents) <= fewAsks
	all := l.Children == nil || !few || time.Since(l.listed) >= l.Relist
	list, err := l.listAllOrChildren(ctx, parents, all)
	if err != nil {
		return err
	}
	l.asked = time.Now()
	for _, p := range parents {
		p.requests++
	}
	l.noteListed(list, all)
	l.startReady(ctx)
	for id, s := range l.known {
		l.callDone(s)
		if s.unlisted && s.state != reading {
			delete(l.known, id)
		}
	}
	return nil
}

func (l *Lineage) listAllOrChildren(ctx context.Context, parents []*lineageShard, all bool) (list []Shard, err error) {
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

// noteListed adds new shards, and sets unlisted for known shards that a list of all shards lacks.
func (l *Lineage) noteListed(list []Shard, all bool) {
	if all {
		l.listed = l.asked
		for _, s := range l.known {
			s.unlisted = true
		}
	}
	for _, listed := range list {
		if s := l.known[listed.ID]; s != nil {
			s.unlisted = false
		} else {
			l.known[listed.ID] = &lineageShard{Shard: listed}
		}
	}
}

// withoutChildren returns the shards that ended, have no known children, and had fewer than MaxAsks requests for them.
func (l *Lineage) withoutChildren() (list []*lineageShard) {
	parents := make(map[string]bool)
	for _, s := range l.known {
		parents[s.Parent] = true
	}
	for _, s := range l.known {
		if s.state >= readToEnd && !parents[s.ID] && s.requests < l.MaxAsks {
			list = append(list, s)
		}
	}
	return list
}

// startReady begins to read the shards that may be read now.
func (l *Lineage) startReady(ctx context.Context) {
	for _, id := range l.Ready() {
		l.known[id].state = reading
		l.active++
		readAll := l.Start(id)
		l.group.Go(func() error {
			at, err := readAll(ctx)
			if err != nil {
				return err
			}
			select {
			case l.ends <- shardEnd{id, at}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
}

// readerEnded records that a shard is no longer read, and starts its children if it was read to its end.
func (l *Lineage) readerEnded(ctx context.Context, ended shardEnd) {
	s := l.known[ended.shard]
	l.active--
	if ended.at.IsZero() {
		l.Done(s.ID)
		return
	}
	s.state = readToEnd
	l.startReady(ctx)
	if !slices.Contains(l.withoutChildren(), s) { // a shard without known children is kept until the next listing
		l.callDone(s)
	}
}

// callDone calls Done for a shard that was read to its end.
func (l *Lineage) callDone(s *lineageShard) {
	if s.state == readToEnd {
		s.state = doneCalled
		l.Done(s.ID)
	}
}
