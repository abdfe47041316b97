package events_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

var schedules = flag.Int("schedules", 0, "how many worlds TestEveryItemIsFoundAfterAnyChange plays: 0 is as many as the run of the tests has")

const (
	eventTable = "events"
	worldKey   = "E#e" // all items have the counts of this key
)

// world has three programs at a time that write, read and delete the items of one key while its count changes. In half the
// worlds the tables had a fixed count before.
type world struct {
	*store
	changes *changes
	begin   time.Time
	fixed   table.Fixed // 0 is none

	mu      sync.Mutex
	written []*written
	windows map[time.Time][]used // counts in force at the begins of limits' windows
	added   int64                // to the tally
	counts  struct{ reads, twice, excused int }
	grown   time.Time // when N was last raised
	fault   error
}

// written is an item.
type written struct {
	event  events.Event // for items of tables, too
	where  string       // eventTable, or the name of a table
	begun  []time.Time  // its puts
	acked  time.Time    // when the first put was accepted; zero if none was
	sent   string       // the text of the last put
	text   string       // of the last accepted put
	last   time.Time    // when that was accepted
	batch  bool         // put by a call of several events, whose late attempts may replace newer data
	open   int          // puts with an unknown outcome or in flight
	delete time.Time    // the begin of the first delete; zero if there is none
	gone   time.Time    // when a delete was accepted; zero if none was
}

func (w *written) sk() string { return schema.EventSortKey(w.event.Time, w.event.ID) }

// named reports whether another program may have named the item before it was stored.
func (w *written) named() bool { return !w.event.New }

// isSettled reports whether the item's data is known at a time: no put is in flight since then.
func (w *written) isSettled(at time.Time) bool {
	return w.open == 0 && !w.batch && !w.last.IsZero() && w.last.Before(at)
}

// used is a count that a program used at a time.
type used struct {
	at    time.Time
	count int
}

// program is one of the programs, with its own view and clock.
type program struct {
	*world
	client  *mapClient
	changer *shardmap.Changer
	writer  *events.Writer
	reader  *events.Reader
	tables  map[string]*table.Table
	tally   table.Tally
	tail    string // the position up to which it has read all events
}

// oneKey gives all names the counts of worldKey.
type oneKey struct{ *shardmap.Changer }

func (o oneKey) Lookup(ctx context.Context, _ string, now time.Time) (shardmap.Entry, error) {
	return o.Changer.Lookup(ctx, worldKey, now)
}

func (o oneKey) Current(ctx context.Context, _ string) (shardmap.Entry, error) {
	return o.Changer.Current(ctx, worldKey)
}

// layouts are the tables' layouts, by the tables' names.
var layouts = map[string]table.Layout{
	"random":     table.RandomSuffix{},
	"newbuckets": table.TimeBuckets{Bucket: shard.Hour},
	"calculated": table.CalculatedSuffix{Time: table.SortTime(schema.SK, shard.Millis)},
	"buckets":    table.TimeBuckets{Bucket: shard.Hour, By: schema.SK},
	"hybrid":     table.HybridBuckets{Bucket: shard.Hour, Group: worldKey},
}

var tableNames = []string{"buckets", "calculated", "hybrid", "newbuckets", "random"}

// isNew reports whether a table's items use a larger count at once.
func isNew(name string) bool { return name == "random" || name == "newbuckets" }

func (w *world) program() *program {
	c := &mapClient{changes: w.changes, skew: w.within(-shardmap.HostClocks/2, shardmap.HostClocks/2)}
	view := shardmap.New(c, "m", shardmap.Options{})
	p := &program{world: w, client: c, tables: map[string]*table.Table{}}
	p.changer = shardmap.NewChanger(c, view, shardmap.ChangerOptions{Clock: p.now})
	p.writer, p.reader = events.NewWriter(w.store, eventTable, view, events.Options{}), events.NewReader(w.store, eventTable, view)
	for name := range layouts {
		p.tables[name] = w.table(name, oneKey{p.changer})
		if w.fixed > 0 {
			p.tables[name].Shards = table.AtLeast{N: w.fixed, Counts: oneKey{p.changer}}
		}
	}
	p.tally = table.Tally{Client: w.store, Table: "tally", PartitionKey: schema.PK, Value: "n", Shards: oneKey{p.changer}}
	return p
}

func (w *world) table(name string, counts table.Counts) *table.Table {
	return &table.Table{Client: w.store, Name: name, PartitionKey: schema.PK, SortKey: schema.SK, Shards: counts, Layout: layouts[name]}
}

// fixedCounts begins with items that a program with fixed counts puts, if there is one.
func (w *world) fixedCounts(p *program) {
	if w.fixed == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range 10 {
		name := tableNames[i%len(tableNames)]
		it := p.item(name, isNew(name))
		p.ended(it, "1", w.table(name, w.fixed).Put(ctx, it.stored(), p.now()))
	}
}

func (p *program) now() time.Time { return time.Now().Add(p.client.skew) }

func (w *world) fail(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf(format, args...)
	}
}

func (p *program) step() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	name := tableNames[p.below(len(tableNames))]
	n := p.below(40)
	p.mu.Lock()
	if time.Since(p.grown) < shardmap.ViewAge {
		n = []int{5, 17, 24, 25, 28, 28, 36, 36}[n%8] // views differ: puts of new items, and reads
		name = []string{"random", "newbuckets"}[n%2]
	}
	p.mu.Unlock()
	switch {
	case n < 4:
		p.change(ctx)
	case n < 9:
		p.putEvents(ctx, 1, true)
	case n < 11:
		p.putEvents(ctx, 4, true)
	case n < 14:
		p.putEvents(ctx, 1+p.below(3), false)
	case n < 16:
		p.repeat(ctx)
	case n < 22:
		p.putItem(ctx, name)
	case n < 24:
		p.deleteItem(ctx, name)
	case n < 25:
		p.sum(ctx)
		p.add(ctx)
	case n < 28:
		p.get(ctx)
	case n < 33:
		p.follow(ctx)
	case n < 35:
		p.list(ctx)
	case n < 39:
		p.readTable(ctx, name)
	default:
		p.window(ctx)
	}
}

// change grows, shrinks, pins or unpins the key.
func (p *program) change(ctx context.Context) {
	seen, err := p.changer.Current(ctx, worldKey)
	if err != nil {
		return
	}
	seen.Key = worldKey
	count := []int{1, 2, 5, 24}[p.below(4)]
	switch n := p.below(8); {
	case seen.Pinned:
		_, _ = p.changer.Unpin(ctx, worldKey, libtest.Note, p.now())
	case n == 0:
		_, _ = p.changer.Pin(ctx, worldKey, count, libtest.Note, p.now())
	case count > seen.History.Newest():
		_, _ = p.changer.GrowFrom(ctx, seen, count, libtest.Note, p.now())
	default:
		_, _ = p.changer.ShrinkFrom(ctx, seen, count, libtest.Note, p.now())
	}
	if entry, err := p.changer.Lookup(ctx, worldKey, p.now()); err == nil && entry.History.Newest() > seen.History.Newest() {
		p.useGrowth(ctx)
	}
}

// useGrowth puts new items right after a growth, which the other programs may not know yet.
func (p *program) useGrowth(ctx context.Context) {
	p.mu.Lock()
	p.grown = time.Now()
	p.mu.Unlock()
	p.putEvents(ctx, 1, true)
	p.putItem(ctx, "random")
	p.putItem(ctx, "newbuckets")
	p.add(ctx)
}

// item returns a new item. New ones are of now, most of them.
func (p *program) item(where string, isNew bool) *written {
	now := p.now()
	past := []time.Duration{time.Second, 10 * time.Second, 150 * time.Second}[p.below(3)]
	at := now.Add(shardmap.MaxAhead - p.within(0, past))
	if isNew && p.below(4) > 0 {
		at = now
	}
	it := &written{where: where, sent: "1", text: "1", open: 1, begun: []time.Time{time.Now()}}
	p.mu.Lock()
	defer p.mu.Unlock()
	it.event = events.Event{Entity: "e", ID: fmt.Sprint(len(p.written)), Time: at.UTC().Truncate(time.Millisecond), New: isNew}
	p.written = append(p.written, it)
	return it
}

// ended records the end of a put of an item with a text.
func (w *world) ended(it *written, text string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrStale) || errors.Is(err, shard.ErrMisused) {
		it.open-- // the outcome is known
	}
	if err == nil {
		it.text, it.last = text, time.Now()
		if it.acked.IsZero() {
			it.acked = time.Now()
		}
	}
}

// data returns an event's data with a text.
func data(text string) dynamo.Item { return dynamo.Item{"text": dynamo.String(text)} }

func (p *program) putEvents(ctx context.Context, n int, isNew bool) {
	list, of := make([]events.Event, n), make([]*written, n)
	for i := range list {
		of[i] = p.item(eventTable, isNew)
		of[i].batch = n > 1
		list[i] = of[i].event
		list[i].Data = data("1")
	}
	for i, err := range p.writer.Put(ctx, list, p.now()) {
		p.ended(of[i], "1", err)
	}
}

// repeat puts an event again by its name, with other data if it was accepted and no put is open, and else with the same:
// which of two puts at a time is applied last isn't known.
func (p *program) repeat(ctx context.Context) {
	p.mu.Lock()
	text, it := "", (*written)(nil)
	if n := len(p.written); n > 0 {
		it = p.written[max(0, n-1-p.below(20))]
		switch {
		case it.where != eventTable || it.open > 0 && it.event.New || it.event.Time.After(p.now().Add(shardmap.MaxAhead)):
		case it.open == 0 && !it.acked.IsZero():
			text = fmt.Sprint(len(it.begun) + 1)
		case it.named():
			text = it.sent
		}
		if it.acked.IsZero() && it.event.New {
			text = ""
		}
	}
	if text == "" {
		p.mu.Unlock()
		return
	}
	it.begun, it.sent, it.open = append(it.begun, time.Now()), text, it.open+1
	ev := it.event
	ev.Data, ev.New = data(text), false
	p.mu.Unlock()
	p.ended(it, text, p.writer.Put(ctx, []events.Event{ev}, p.now())[0])
}

// stored returns an item's key in a table.
func (w *written) stored() table.Item {
	return table.Item{schema.PK: dynamo.String("e"), schema.SK: dynamo.String(w.sk())}
}

func (p *program) putItem(ctx context.Context, name string) {
	it := p.item(name, isNew(name))
	p.ended(it, "1", p.tables[name].Put(ctx, it.stored(), p.now()))
}

func (p *program) deleteItem(ctx context.Context, name string) {
	it := p.pick(func(it *written) bool { return it.where == name && it.open == 0 && it.delete.IsZero() })
	if it == nil {
		return
	}
	p.mu.Lock()
	it.delete = time.Now()
	p.mu.Unlock()
	if err := p.tables[name].Delete(ctx, it.stored(), p.now()); err != nil {
		return
	}
	p.mu.Lock()
	it.gone = time.Now()
	p.mu.Unlock()
}

// pick returns one of the last items that qualify, or nil.
func (p *program) pick(qualifies func(*written) bool) *written {
	p.mu.Lock()
	defer p.mu.Unlock()
	skip := p.below(5)
	for _, it := range slices.Backward(p.written) {
		if qualifies(it) {
			if skip--; skip < 0 {
				return it
			}
		}
	}
	return nil
}

// add adds to the tally. An addition whose answer is lost may count twice.
func (p *program) add(ctx context.Context) {
	if p.tally.Add(ctx, "e", 1, p.now()) == nil {
		p.mu.Lock()
		p.added++
		p.mu.Unlock()
	}
}

// sum checks a strong sum of the tally.
func (p *program) sum(ctx context.Context) {
	p.mu.Lock()
	least := p.added
	p.mu.Unlock()
	sum, err := p.tally.Sum(ctx, []string{"e"}, p.now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && sum.Int64() < least {
		p.fail("a sum is %v, want at least %d", sum, least)
	}
}

// window records the count in force at the begin of a limit's window, by which the limit is divided.
func (p *program) window(ctx context.Context) {
	now := p.now()
	entry, err := p.changer.Lookup(ctx, worldKey, now)
	if err != nil {
		return
	}
	start := now.Truncate(10 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windows[start] = append(p.windows[start], used{time.Now(), entry.History.At(start)})
}

// get looks up an event.
func (p *program) get(ctx context.Context) {
	begun := time.Now()
	it := p.pick(func(it *written) bool { return it.where == eventTable && !it.acked.IsZero() })
	if it == nil {
		return
	}
	p.mu.Lock()
	puts, settled := len(it.begun), it.isSettled(begun)
	p.mu.Unlock()
	ev, err := p.reader.Get(ctx, "e", it.event.ID, it.event.Time, p.now())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.reads++
	switch {
	case p.excused(it, begun), err != nil && !errors.Is(err, shard.ErrNotFound):
	case err != nil:
		p.fail("at %v a look-up: %w: %s", begun, err, p.story(it))
	case settled && len(it.begun) == puts && libtest.Text(ev.Data["text"]) != it.text:
		p.fail("at %v a look-up has data %s, want %s: %s", begun, libtest.Text(ev.Data["text"]), it.text, p.story(it))
	}
}

// excused reports whether a read may miss an item: docs/limits.md. The caller holds mu.
func (p *program) excused(it *written, begun time.Time) bool {
	since := time.Now()
	if it.event.New && len(it.begun) == 1 && it.event.Time.After(since.Add(-shardmap.Unsettled)) {
		return false
	}
	excused := p.changes.excuses(it.event.Time, append([]time.Time{begun, since}, it.begun...)...)
	if excused {
		p.counts.excused++
	}
	return excused
}

// story describes an item. The caller holds mu.
func (p *program) story(it *written) string {
	entry, _ := p.changer.Read(context.Background(), worldKey)
	var at []string
	p.store.mu.Lock()
	for key := range p.store.tables[it.where] {
		if strings.HasSuffix(key, it.sk()) {
			at = append(at, key)
		}
	}
	p.store.mu.Unlock()
	return fmt.Sprintf("%s %+v, put at %v, accepted at %v, deleted %v to %v, is at %q; counts %v, late %v", it.where, it.event, it.begun, it.acked, it.delete, it.gone, at, entry.History, p.changes.late)
}

// follow reads the next page of events after the program's position, or before a random position in descending order.
func (p *program) follow(ctx context.Context) {
	r := events.Range{Entity: "e", From: p.begin.Add(-time.Hour), To: time.Now().Add(time.Minute), Limit: 1 + p.below(3), After: p.tail}
	if p.below(4) == 0 {
		p.tail, r.After = "", ""
		if r.Desc = true; p.below(2) == 0 {
			r.After = schema.EventSortKey(p.now().Add(shardmap.MaxAhead-p.within(0, 10*time.Second)), "x")
		}
	}
	begun := time.Now()
	page, err := p.reader.Query(ctx, r, p.now())
	if err != nil {
		return
	}
	low, high := r.After, page.Next
	if high == "" && r.After != "" && len(page.Events) > 0 && !r.Desc {
		last := page.Events[len(page.Events)-1]
		high = schema.EventSortKey(last.Time, last.ID)
	}
	if r.Desc {
		low, high = page.Next, r.After
		if page.Next != "" && high == "" {
			high = "~"
		}
	} else if high != "" {
		p.tail = high
	}
	p.check(page.Events, begun, fmt.Sprintf("range %+v, next %q", r, page.Next), func(it *written) bool {
		sk := it.sk()
		if r.Desc {
			return high != "" && sk < high && sk >= low && it.event.Time.After(r.From)
		}
		return sk > low && sk <= high
	})
}

// list reads all events without a cursor. It may lack those of the last second.
func (p *program) list(ctx context.Context) {
	begun := time.Now()
	r := events.Range{Entity: "e", From: p.begin.Add(-time.Hour), To: begun.Add(time.Minute), Limit: 1000, Desc: p.below(2) == 0}
	page, err := p.reader.Query(ctx, r, p.now())
	if err != nil {
		return
	}
	p.check(page.Events, begun, "", func(it *written) bool {
		const behind = shardmap.ViewAge + 100*time.Millisecond
		return it.acked.Before(begun.Add(-behind)) && !p.changes.excuses(it.event.Time, append(it.begun, begun, time.Now())...)
	})
}

// check checks that a page has each accepted event that belongs to it once, with the data of its last put.
func (p *program) check(page []events.Event, begun time.Time, about string, belongs func(*written) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.reads++
	found := map[string][]events.Event{}
	for _, ev := range page {
		found[ev.ID] = append(found[ev.ID], ev)
	}
	for _, it := range p.written {
		if it.where != eventTable {
			continue
		}
		all := found[it.event.ID]
		if len(all) > 1 {
			p.fail("at %v a page has an event twice: %s", begun, p.story(it))
		}
		if len(all) == 0 && !it.acked.IsZero() && it.acked.Before(begun) && belongs(it) && !p.excused(it, begun) {
			p.fail("at %v a page lacks an event: %s; it has %+v, %s", begun, p.story(it), page, about)
		}
		if len(all) == 1 && it.isSettled(begun) && libtest.Text(all[0].Data["text"]) != it.text && !p.excused(it, begun) {
			p.fail("at %v a page has data %s, want %s: %s", begun, libtest.Text(all[0].Data["text"]), it.text, p.story(it))
		}
	}
}

// readTable reads a table's items in one of two ways, and checks them.
func (p *program) readTable(ctx context.Context, name string) {
	t, begun := p.tables[name], time.Now()
	span := table.During(shard.Millis, p.begin.Add(-time.Hour), begun.Add(time.Minute))
	span.Desc, span.Consistent = p.below(2) == 0, p.below(2) == 0
	found, complete := map[string]int{}, true
	if p.below(2) == 0 {
		span.Consistent = true
		for it, err := range t.Query(ctx, "e", span, p.now()) {
			if err != nil {
				return
			}
			found[libtest.Text(it[schema.SK])]++
		}
	} else {
		for span.Limit = 4; ; {
			page, err := t.Page(ctx, "e", span, p.now())
			if err != nil {
				return
			}
			for _, it := range page.Items {
				found[libtest.Text(it[schema.SK])]++
			}
			if span.After = page.Next; span.After == "" {
				complete = span.Consistent || len(page.Items) < len(found)
				break
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.reads++
	for _, it := range p.written {
		n := found[it.sk()]
		switch {
		case it.where != name || p.excused(it, begun):
		case n > 1, n > 0 && !it.gone.IsZero() && it.gone.Before(begun):
			p.fail("at %v a read has an item %d times: %s", begun, n, p.story(it))
		case n == 0 && complete && !it.acked.IsZero() && it.acked.Before(begun) && it.delete.IsZero():
			p.fail("at %v a read lacks an item: %s", begun, p.story(it))
		}
	}
}

// verdict checks how often items are stored, and the counts of windows.
func (w *world) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	copies := map[string]int{}
	w.store.mu.Lock()
	for name, of := range w.tables {
		for key := range of {
			_, sk, _ := strings.Cut(key, "\x00")
			copies[name+"\x00"+strings.TrimPrefix(sk, "e#")]++
		}
	}
	w.store.mu.Unlock()
	for _, it := range w.written {
		n := copies[it.where+"\x00"+it.sk()]
		switch {
		case n == 0 && !it.acked.IsZero() && it.delete.IsZero():
			w.fail("an item is lost: %+v", it)
		case n <= 1:
		case it.where == eventTable && it.event.New && len(it.begun) > 1: // put again by its name: docs/limits.md
			w.counts.twice++
		case it.named() && w.changes.excuses(it.event.Time, it.begun...):
			w.counts.excused++
		default:
			w.fail("an item is stored %d times: %+v; late %v", n, it, w.changes.late)
		}
	}
	for start, list := range w.windows {
		for _, u := range list {
			if u.count != list[0].count && !w.changes.excuses(start, u.at, list[0].at) {
				w.fail("the window from %v has counts %v; late %v", start, list, w.changes.late)
			}
		}
	}
	return w.fault
}

// playWorld plays a seed's world.
func playWorld(t *testing.T, seed uint64) (w *world, err error) {
	synctest.Test(t, func(*testing.T) {
		s := &store{random: rand.New(rand.NewPCG(seed, 5)), tables: map[string]map[string]dynamo.Item{}}
		w = &world{store: s, changes: &changes{MapTable: enginetest.NewMapTable(100, 0, 0), store: s}, begin: time.Now(), windows: map[time.Time][]used{}}
		w.fixed = table.Fixed(seed % 2 * 4)
		w.fixedCounts(w.program())
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				p := w.program()
				for range 60 {
					time.Sleep(p.within(0, []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 20 * time.Second}[p.below(5)]))
					if p.client.isDead() {
						p = w.program()
					}
					p.step()
				}
			})
		}
		group.Wait()
		time.Sleep(10 * time.Minute) // until no call is in flight
		err = w.verdict()
	})
	return w, err
}

// TestEveryItemIsFoundAfterAnyChange checks that each accepted item is found once by look-ups, pages with cursors, strong
// reads, counts and sums, whatever changes meanwhile, and that deleted ones are not. Programs write events and items of
// all layouts, with and without a name, also in tables that get a map after a fixed count. Calls are throttled, lose their answers, take seconds and are applied late;
// changes of N are committed late, and programs die. Reads may differ as docs/limits.md allows.
func TestEveryItemIsFoundAfterAnyChange(t *testing.T) {
	n := require.Runs(require.UnlessQuick(300, 120), 5000)
	if *schedules > 0 {
		n = *schedules
	}
	first := require.Seed(t)
	var commits, late, decreases, reads, twice, excused, items, faults atomic.Int64
	next := atomic.Uint64{}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for i := next.Add(1); i <= uint64(n) && faults.Load() < 10; i = next.Add(1) {
				w, err := playWorld(t, first+i-1)
				if err != nil {
					faults.Add(1)
					t.Errorf("seed %d: %v", first+i-1, err)
				}
				commits.Add(int64(w.changes.counts.commits))
				late.Add(int64(w.changes.counts.late))
				decreases.Add(int64(w.changes.counts.decreases))
				reads.Add(int64(w.counts.reads))
				twice.Add(int64(w.counts.twice))
				excused.Add(int64(w.counts.excused))
				items.Add(int64(len(w.written)))
			}
		})
	}
	group.Wait()
	t.Logf("%d worlds, %d with a fault: %d changes, %d of them growths committed late, %d decreases; %d items, %d reads, %d excused; %d events stored twice after a put by name",
		min(next.Load(), uint64(n)), faults.Load(), commits.Load(), late.Load(), decreases.Load(), items.Load(), reads.Load(), excused.Load(), twice.Load())
	if late.Load() == 0 || decreases.Load() == 0 {
		t.Error("the worlds lack late growths or decreases")
	}
}
