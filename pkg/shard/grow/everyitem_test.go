package grow_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

var everyItem = flag.Int("items", 0, "how many items TestEveryItemIsFoundOnce puts: 0 is 2,000, in the long run 40,000")

// TestEveryItemIsFoundOnce checks that each read has every item once, in order, that was accepted before the read began, and
// none that was not put. Two readers read meanwhile, and a third at the end.
//
// Eight programs, each with a shard map and a grower, storm adopted names one after another on the engine. A limiter has
// 64 partitions of 20 WCU/s, and an operator pins other counts. Puts are not sent, lose their answer or end early.
// Programs die. A sixth of the changes of N kill their program, and are committed up to 6 s later. Until the next change,
// a read may then miss items (docs/limits.md).
func TestEveryItemIsFoundOnce(t *testing.T) {
	t.Parallel()
	total := lane.Runs(2000, 40_000)
	if *everyItem > 0 {
		total = *everyItem
	}
	each := min(total/2, 5000) // items of a name
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := libtest.Deploy(t)
	limited, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 20, Burst: time.Second})
	w := &crowd{t: t, d: d, limited: limited, random: rand.New(rand.NewPCG(seed, 0))}
	layouts := []table.Layout{table.RandomSuffix{}, table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}}
	names, changes := 0, 0
	for ; names*each < total; names++ {
		w.table, w.commits = libtest.Theirs(t, d.Client, "S"), nil
		o := &orders{w: w, name: fmt.Sprintf("customer-%d", names), layout: layouts[names%2], accepted: map[string]bool{}, asked: map[string]bool{}}
		o.storm(min(each, total-names*each))
		w.dying.Wait()
		reader := w.program(o.layout)
		o.check("at the end", o.paged(reader), maps.Clone(o.accepted), time.Time{})
		entry, err := reader.changer.Read(libtest.Within(t), o.name)
		if err != nil || entry.Most() < 2 {
			t.Errorf("%s: N %v, %v; want a growth", o.name, entry.History, err)
		}
		changes += len(entry.History)
		if _, err := d.Client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &w.table}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d items accepted, %d perhaps, of %d names with %d changes of N; %d committed late, %d without an answer; %d reads, %d failed, %d excused",
		w.accepted, w.perhaps, names, changes, w.late, w.lost.Load(), w.reads.Load(), w.failed.Load(), w.excused)
}

// crowd is a table with the faults of its programs and counts of what happened.
type crowd struct {
	t       *testing.T
	d       *libtest.Deployment
	limited *dynamodb.Client
	table   string

	mu                sync.Mutex
	random            *rand.Rand
	accepted, perhaps int          // puts; perhaps have an unknown outcome
	commits           []commit     // changes of the current name
	lost              atomic.Int64 // transactions whose answer was lost
	reads, failed     atomic.Int64
	late, excused     int // late commits, and reads that missed items for them
	dying             sync.WaitGroup
}

// commit is the commit of a change of N.
type commit struct {
	at   time.Time
	late bool // its program died before
}

func (w *crowd) committed(late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commits = append(w.commits, commit{time.Now(), late})
	if late {
		w.late++
	}
}

// excuses reports whether a read that began at a time may miss items after a late commit. All programs know the commit
// after the next change, or after [shardmap.LateTime].
func (w *crowd) excuses(began time.Time) bool {
	const poll = 3 * time.Second // on a busy machine
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.commits {
		known := c.at.Add(shardmap.LateTime)
		if i+1 < len(w.commits) {
			known = w.commits[i+1].at
		}
		if c.late && began.Before(known.Add(poll)) {
			w.excused++
			return true
		}
	}
	return false
}

// odds reports true once in n times.
func (w *crowd) odds(n int) bool { return w.below(n) == 0 }

func (w *crowd) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// process is a running program with its table.
type process struct {
	*table.Table
	client  *mortal
	changer *shardmap.Changer
}

// program starts a program.
func (w *crowd) program(layout table.Layout) process {
	client := &mortal{Client: w.d.Client, w: w}
	changer := shardmap.NewChanger(client, shardmap.New(client, w.d.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	grower, err := grow.New(changer, grow.Options{Logger: slog.New(slog.DiscardHandler), Partitions: func(string) int { return 64 }})
	if err != nil {
		w.t.Fatal(err)
	}
	fault := func(n int, err error) func() error {
		return func() error {
			if w.odds(n) {
				return err
			}
			return nil
		}
	}
	return process{&table.Table{
		Client: &libtest.Flaky{Client: w.limited, Before: fault(100, libtest.LostAnswer{}), After: fault(100, libtest.LostAnswer{})},
		Name:   w.table, PartitionKey: "customer", SortKey: "placed",
		Shards: changer, Observer: grower, Layout: layout, Format: shard.HashShard, PlainFirst: true,
	}, client, changer}
}

// mortal is a program's client of the shard map. With a sixth of its transactions the program dies, and the transaction is
// committed later. Another sixth lose their answer.
type mortal struct {
	*dynamodb.Client
	w    *crowd
	dead atomic.Bool
}

func (c *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.dead.Load() { // ends the goroutine that voids the change
		return nil, &types.ConditionalCheckFailedException{}
	}
	return c.Client.PutItem(ctx, in, o...)
}

func (c *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	roll := c.w.below(6)
	switch {
	case c.dead.Load():
		return nil, libtest.LostAnswer{}
	case roll == 0:
		c.dead.Store(true)
		after := time.Duration(c.w.below(6000)) * time.Millisecond
		c.w.dying.Go(func() {
			time.Sleep(after)
			if _, err := c.Client.TransactWriteItems(context.WithoutCancel(ctx), in); err == nil {
				c.w.committed(true)
			}
		})
		return nil, libtest.LostAnswer{}
	}
	out, err := c.Client.TransactWriteItems(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	c.w.committed(false)
	if roll == 1 {
		c.w.lost.Add(1)
		return nil, libtest.LostAnswer{}
	}
	return out, nil
}

// orders are the items of a name.
type orders struct {
	w      *crowd
	name   string
	layout table.Layout

	mu       sync.Mutex
	accepted map[string]bool // by sort key
	asked    map[string]bool // accepted, or with an unknown outcome
}

// storm lets the programs put n items while others read.
func (o *orders) storm(n int) {
	for i := range 20 { // by a program without the library
		it := o.item(fmt.Sprint("plain-", i))
		if _, err := o.w.d.Client.PutItem(o.w.t.Context(), &dynamodb.PutItemInput{TableName: &o.w.table, Item: it}); err != nil {
			o.w.t.Fatal(err)
		}
		o.asked[libtest.Text(it["placed"])], o.accepted[libtest.Text(it["placed"])] = true, true
	}
	var writers, readers sync.WaitGroup
	var puts atomic.Int64
	done := make(chan struct{})
	for p := range 8 {
		writers.Go(func() {
			program := o.w.program(o.layout)
			for i := puts.Add(1); int(i) <= n; i = puts.Add(1) {
				o.put(program, fmt.Sprint(p, "-", i))
				if program.client.dead.Load() || o.w.odds(200) {
					program = o.w.program(o.layout)
				}
			}
		})
	}
	meanwhile := func(do func(process)) {
		readers.Go(func() {
			for program := o.w.program(o.layout); ; {
				select {
				case <-done:
					return
				default:
					do(program)
				}
			}
		})
	}
	meanwhile(o.read)
	meanwhile(func(process) { o.read(o.w.program(o.layout)) })
	meanwhile(func(process) { o.operate(o.w.program(o.layout)) })
	writers.Wait()
	close(done)
	readers.Wait()
}

func (o *orders) item(id string) table.Item {
	return table.Item{"customer": libtest.Str(o.name), "placed": libtest.Str(shard.Millis.Key(time.Now(), "#", id))}
}

// put puts an item. Once in 50 times the deadline is 20 ms at most.
func (o *orders) put(program process, id string) {
	limit := 10 * time.Second
	if o.w.odds(50) {
		limit = time.Duration(o.w.below(20)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(o.w.t.Context(), limit)
	defer cancel()
	it := o.item(id)
	key := libtest.Text(it["placed"])
	o.mu.Lock()
	o.asked[key] = true
	o.mu.Unlock()
	err := program.Put(ctx, it, time.Now())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	switch {
	case err == nil:
		o.accepted[key] = true
		o.w.accepted++
	case errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrUnavailable) || errors.Is(err, shard.ErrStale) || ctx.Err() != nil:
		o.w.perhaps++
	default:
		o.w.t.Errorf("Put of %s of %s: %v", key, o.name, err)
	}
}

// read reads all items of the name and checks them against those accepted before. Then it pauses as long as it read.
func (o *orders) read(program process) {
	began := time.Now()
	defer func() { time.Sleep(time.Since(began)) }()
	o.mu.Lock()
	before := maps.Clone(o.accepted)
	o.mu.Unlock()
	var found []string
	o.w.reads.Add(1)
	for it, err := range program.Query(libtest.Within(o.w.t), o.name, table.Span{Consistent: true}, time.Now()) {
		if err != nil {
			o.w.failed.Add(1)
			if !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled) && !errors.Is(err, shard.ErrStale) {
				o.w.t.Errorf("Query of %s: %v", o.name, err)
			}
			return
		}
		found = append(found, libtest.Text(it["placed"]))
	}
	o.check("during the storm", found, before, began)
}

// operate pins a count for up to a second.
func (o *orders) operate(operator process) {
	ctx := libtest.Within(o.w.t)
	_, _ = operator.changer.Pin(ctx, o.name, 1+o.w.below(64), libtest.Note, time.Now()) // may kill the operator
	time.Sleep(time.Duration(o.w.below(1000)) * time.Millisecond)
	_, _ = operator.changer.Unpin(ctx, o.name, libtest.Note, time.Now())
	time.Sleep(time.Duration(o.w.below(1000)) * time.Millisecond)
}

// paged reads all items of the name in pages.
func (o *orders) paged(program process) (found []string) {
	for s := (table.Span{Limit: 300, Consistent: true}); ; {
		page, err := program.Page(libtest.Within(o.w.t), o.name, s, time.Now())
		if err != nil {
			o.w.t.Fatal(err)
		}
		for _, it := range page.Items {
			found = append(found, libtest.Text(it["placed"]))
		}
		if s.After = page.Next; s.After == "" {
			return found
		}
	}
}

// check checks that a read found each wanted item once and in order, and none that was not put. A read with the zero time
// as its begin is not excused.
func (o *orders) check(when string, found []string, want map[string]bool, began time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, key := range found {
		if delete(want, key); !o.asked[key] || i > 0 && key <= found[i-1] {
			o.w.t.Errorf("%s, %s: %s was not put, was read twice or is not in order", o.name, when, key)
		}
	}
	if len(want) > 0 && (began.IsZero() || !o.w.excuses(began)) {
		o.w.t.Errorf("%s, %s: %d of %d items are missing, such as %v", o.name, when, len(want), len(found)+len(want), slices.Sorted(maps.Keys(want))[:1])
	}
}
