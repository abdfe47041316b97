package streamshard

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lineage reads the shards of a stream side by side, each after its parent has been read to its
// end. Its methods and functions are called by one goroutine, except for what Start returns.
type Lineage struct {
	// List lists all shards; Children those of a parent, and maybe others. Children may be nil.
	// Their errors end the lineage: they repeat what may pass.
	List     func(ctx context.Context) ([]Shard, error)
	Children func(ctx context.Context, parent string) ([]Shard, error)

	// Start is called before a shard is read. It returns the function that reads the shard, and
	// that returns when it ended: the zero time means that it was left before its end.
	Start func(shard string) func(context.Context) (ended time.Time, err error)

	// Done is called once a shard is no longer read and its children, if the next listing has
	// any, were started. So there is no moment at which neither seems to be read.
	Done func(shard string)

	// Split is called when several children follow a shard that was read to its end. It is
	// called again if more children are listed later. It may be nil.
	Split func(Split)

	Relist   time.Duration // between two listings of all shards
	AskAgain time.Duration // between two requests for the children of shards that ended
	MaxAsks  int           // requests for the children of a shard; then only all are listed
	Endless  bool          // Run goes on when all shards were read and no children are expected

	known  map[string]*branch
	active int
	ends   chan end
	group  *errgroup.Group
	listed time.Time // when all shards were listed
	asked  time.Time // when any shards were listed
}

// Split is a stream shard that was followed by several. DynamoDB splits a partition that is hot
// or full.
type Split struct {
	Time     time.Time // when the parent ended, to about a second; for the past, its last record's
	Parent   string    // ID of the stream shard
	Children int       // at least 2
}

// fewAsks is how many shards are asked for their children one by one: for more, all are listed.
const fewAsks = 3

// branch is a shard of a lineage.
type branch struct {
	Shard
	state state
	asks  int       // requests for its children that were answered, since it ended
	ended time.Time // zero if it was not read to its end by this lineage
	gone  bool      // the stream no longer lists it
}

type state uint8

const (
	waits    state = iota
	read           // by a goroutine; or it was left
	done           // to its end
	released       // and Done was called
)

type end struct {
	shard string
	at    time.Time
}

// Reset begins with these shards, of which some were read to their end before.
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

// Ready returns the shards that may be read now: their parent was read to its end, or the stream
// no longer lists it.
func (l *Lineage) Ready() (ready []string) {
	for _, b := range l.known {
		parent := l.known[b.Parent]
		if b.state == waits && !b.gone && (parent == nil || parent.gone || parent.state >= done) {
			ready = append(ready, b.ID)
		}
	}
	return ready
}

// Run starts with what [Lineage.Reset] was given, and reads until ctx ends, until reading or
// listing fails for good, or until nothing is left to read. It returns nil in the last case.
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
			l.end(ctx, e)
		case <-timer.C:
			if err := l.search(ctx); err != nil {
				return err
			}
		}
		timer.Stop()
	}
	return nil
}

// nextListing returns when shards are to be listed.
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
	l.note(list, all)
	l.reportSplits()
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

// note adds the shards that are new, and marks those that a list of all lacks.
func (l *Lineage) note(list []Shard, all bool) {
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

// end records that a shard is no longer read, and starts its children if it was read to its end.
func (l *Lineage) end(ctx context.Context, e end) {
	b := l.known[e.shard]
	l.active--
	if e.at.IsZero() {
		l.Done(b.ID)
		return
	}
	b.state, b.ended = done, e.at
	l.reportSplits()
	l.startReady(ctx)
	if !slices.Contains(l.childless(), b) { // otherwise after the next listing
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

func (l *Lineage) reportSplits() {
	if l.Split == nil {
		return
	}
	children := make(map[string]int)
	for _, b := range l.known {
		children[b.Parent]++
	}
	for id, n := range children {
		if b := l.known[id]; b != nil && n > 1 && !b.ended.IsZero() {
			l.Split(Split{Time: b.ended, Parent: id, Children: n})
		}
	}
}
