package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// variant folds a world's records into a table of its own, in its own way. A variant without faults delivers each
// record once, in order.
type variant struct {
	*world
	config
	table string
	lanes [2][]*streamShard // by stream

	mu         sync.Mutex // folds draw concurrently
	random     *rand.Rand
	injected   map[string]int
	calls      atomic.Int64
	containers []*container
}

// config is what variants differ in.
type config struct {
	Containers, Lanes, Batch int           // stream shards of each table at first, and the most records of a delivery
	Faults                   int           // of 1,000 calls; four times as many deliveries
	Spare                    int           // entries of a top beyond its size
	Rest                     time.Duration // since a fragment's last fold before it is merged
	Lag                      bool          // the index shows what it had up to maxLag ago
}

// streamShard is the records of items in a range of hashes, of a range of the stream's log.
type streamShard struct {
	id        string
	low, high uint32
	parent    *streamShard
	from, to  int // to is -1 while it is open
	done      int // place in the log before which Lambda takes all records as done
}

func (l *streamShard) ended() bool { return l.to >= 0 && l.done >= l.to }

// unfinished returns the oldest ancestor that is not done, or the stream shard itself.
func (l *streamShard) unfinished() *streamShard {
	if l.parent != nil && !l.parent.ended() {
		return l.parent.unfinished()
	}
	return l
}

// container is an aggregator's process.
type container struct {
	*Handler
	dead atomic.Bool
}

func newVariant(w *world, c config) *variant {
	v := &variant{world: w, config: c, table: enginetest.Tables(w.t, w.db).Rollups, random: rand.New(rand.NewPCG(w.random.Uint64(), 1)),
		injected: map[string]int{}, containers: make([]*container, c.Containers)}
	for i := range v.lanes {
		width := math.MaxUint32 / uint32(c.Lanes)
		for n := range uint32(c.Lanes) {
			v.lanes[i] = append(v.lanes[i], &streamShard{id: fmt.Sprint("shardId-", n), low: n * width, high: n*width + width - 1, to: -1})
		}
		v.lanes[i][c.Lanes-1].high = math.MaxUint32
	}
	for i := range v.containers {
		v.containers[i] = v.start()
	}
	return v
}

// start returns a container that caches nothing.
func (v *variant) start() *container {
	c := &container{}
	client := enginetest.Around(v.db, func(in any, call func() error) error { return v.call(c, in, call) })
	settings := Settings{ItemsTable: v.names.Items, RollupsTable: v.table, ShardMapTable: v.names.ShardMap, Rollups: true, BoardRecheck: recheck}
	h, err := New(settings, client, slog.New(slog.DiscardHandler))
	require.NoError(v.t, err)
	h.now, h.counters, h.events, h.cells = v.now, newCounterFolder(client, v.table, v.now), newEventFolder(client, settings, v.now), newCellsFolder(client, settings, v.now)
	h.tops.now, h.tops.capacity = v.now, func(size int) int { return size + v.Spare }
	h.tops.boards = &lateIndex{Boards: h.tops.boards, variant: v}
	h.compactor = newCompactor(client, Settings{RollupsTable: v.table, ItemsTable: v.names.Items}, h.log, v.now)
	h.compactor.readUnits, h.compactor.writeUnits, h.compactor.pageItems, h.compactor.rest = 1e6, 1e6, 50, v.Rest
	c.Handler = h
	return c
}

// lateIndex is a board's index that lags.
type lateIndex struct {
	Boards
	variant *variant
	places  map[string][]boards.Place
	read    time.Time
}

func (l *lateIndex) Top(ctx context.Context, name, period string, n int, now time.Time) ([]boards.Place, error) {
	l.variant.mu.Lock()
	if age := now.Sub(l.read); !l.variant.Lag || age > maxLag/2 || l.variant.random.IntN(4) == 0 {
		l.places, l.read = map[string][]boards.Place{}, now
	}
	places, known := l.places[name+period]
	l.variant.mu.Unlock()
	if !known {
		var err error
		if places, err = l.Boards.Top(ctx, name, period, 1000, now); err != nil {
			return nil, err
		}
		l.variant.mu.Lock()
		l.places[name+period] = places
		l.variant.mu.Unlock()
	}
	return slices.Clone(places[:min(n, len(places))]), nil
}

// happens reports whether a fault occurs, of which there are so many in 1,000, and counts it.
func (v *variant) happens(fault string, perMille int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended || v.random.IntN(1000) >= perMille {
		return false
	}
	v.injected[fault]++
	return true
}

func (v *variant) intN(n int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.random.IntN(n)
}

// Errors of calls. The first, of calls that are not sent or have an unknown outcome, is retried.
var (
	errBroken = &types.InternalServerError{}
	errDied   = errors.New("the process died")
)

// call makes a container's call of DynamoDB, or fails.
func (v *variant) call(c *container, in any, call func() error) error {
	_, update := in.(*dynamodb.UpdateItemInput)
	meanwhile := v.Faults / 8
	if _, ofEntries := in.(*dynamodb.BatchGetItemInput); ofEntries || updateOf(schema.TopSK)(in) {
		meanwhile = v.Faults * 3 / 2
	}
	switch {
	case c.dead.Load():
		return errDied
	case v.happens("not sent", v.Faults/3):
		return errBroken
	case v.happens("throttled", v.Faults/4):
		return throttled("TableWriteKeyRangeThroughputExceeded")
	case v.happens("died before a call", v.Faults/20):
		c.dead.Store(true)
		return errDied
	}
	v.calls.Add(1)
	v.intervene(meanwhile)
	err := call()
	v.intervene(meanwhile)
	if v.happens("died after a call", v.Faults/20) {
		c.dead.Store(true)
	}
	switch {
	case c.dead.Load():
		return errDied
	case update && v.happens("answer lost", v.Faults/2):
		return errBroken
	}
	return err
}

// intervene writes and folds, at times, during a call.
func (v *variant) intervene(perMille int) {
	if v.busy.TryLock() {
		defer v.busy.Unlock()
		if v.happens("writes and folds meanwhile", perMille) {
			v.write()
			v.pull()
			v.turn()
		}
	}
}

// turn delivers some records, or changes the stream shards, or runs a task.
func (v *variant) turn() {
	i := v.intN(len(v.lanes))
	switch {
	case v.happens("stream shard split or rotated", v.Faults):
		v.split(i)
	case v.happens("container started", v.Faults/2):
		v.containers[v.intN(len(v.containers))] = v.start()
	case v.Faults > 0 && v.intN(12) == 0:
		v.compact()
	case v.intN(10) == 0:
		v.task()
	default:
		l := v.lanes[i][v.intN(len(v.lanes[i]))]
		from := l.done
		if v.happens("delivery: old records", v.Faults*4) {
			from = l.from + v.intN(l.done-l.from+1)
		}
		v.deliver(i, l, from)
	}
}

// split closes a stream shard, whose later records are in its children.
func (v *variant) split(stream int) {
	l, now := v.lanes[stream][v.intN(len(v.lanes[stream]))], len(v.streams[stream].log)
	if l.to >= 0 || len(v.lanes[stream]) > 30 {
		return
	}
	l.to = now
	middle := l.low + (l.high-l.low)/2
	if v.intN(2) == 0 {
		middle = l.high // it rotates
	}
	for low, high := l.low, middle; ; low, high = middle+1, l.high {
		v.lanes[stream] = append(v.lanes[stream], &streamShard{id: fmt.Sprintf("%s-%d", l.id, len(v.lanes[stream])), low: low, high: high, parent: l, from: now, to: -1, done: now})
		if high == l.high {
			return
		}
	}
}

// deliver delivers a batch of a stream shard from a place in the log, if its parent is done. Some batches are
// delivered to two containers concurrently, and of some Lambda gets no answer.
func (v *variant) deliver(stream int, l *streamShard, from int) {
	if l.parent != nil && !l.parent.ended() {
		return
	}
	log := v.streams[stream].log
	end := len(log)
	if l.to >= 0 {
		end = l.to
	}
	var texts []string
	var at []int
	for n := 1 + v.intN(v.Batch); from < end && len(texts) < n; from++ {
		if r := log[from]; r.hash >= l.low && r.hash <= l.high && (from >= l.done || v.now().Sub(r.at) < 23*time.Hour) {
			texts, at = append(texts, r.text), append(at, from)
		}
	}
	lost := v.happens("delivery: answer lost", v.Faults)
	var others sync.WaitGroup
	if v.happens("delivery: twice", v.Faults) {
		others.Go(func() { _, _ = v.hand(l.id, texts) })
	}
	failed, err := v.hand(l.id, texts)
	others.Wait()
	if lost || err != nil {
		return
	}
	for i, place := range at {
		if failed[log[place].sequence] {
			from = at[i]
			break
		}
	}
	l.done = max(l.done, from)
}

// hand delivers records to some container, and returns the sequence numbers that are reported as failed.
func (v *variant) hand(streamShard string, texts []string) (map[string]bool, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	c := v.container()
	failed, err := hand(c.Handler, enginetest.WindowedBatch(streamShard, texts...))
	if c.dead.Load() {
		return nil, errDied
	}
	return failed, err
}

// container returns some container, in whose place a new one starts if it died.
func (v *variant) container() *container {
	i := v.intN(len(v.containers))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.containers[i].dead.Load() {
		v.containers[i] = v.start()
	}
	return v.containers[i]
}

// oldest returns the time of the oldest record that is not done; now if there is none.
func (v *variant) oldest() time.Time {
	oldest := v.now()
	for i, lanes := range v.lanes {
		for _, l := range lanes {
			if log := v.streams[i].log; !l.ended() && l.done < len(log) && log[l.done].at.Before(oldest) {
				oldest = log[l.done].at
			}
		}
	}
	return oldest
}

// drain delivers all records.
func (v *variant) drain() {
	for i := range v.lanes {
		for n := 0; n < len(v.lanes[i]); n++ { // parents come first
			for tries, l := 0, v.lanes[i][n]; !l.ended() && l.done < len(v.streams[i].log); tries++ {
				if tries > 2000 {
					v.t.Fatalf("%+v: stream shard %s is not done after 2,000 deliveries", v.config, l.id)
				}
				next := l.unfinished() // a fold during a call may have rotated the parent since its turn
				v.deliver(i, next, next.done)
			}
		}
	}
}

// again delivers old records to containers that cache nothing, the oldest last.
func (v *variant) again() {
	for i := range v.containers {
		v.containers[i] = v.start()
	}
	for i, lanes := range v.lanes {
		for _, l := range lanes {
			for from := l.done; from > l.from; {
				from = l.from + v.intN(from-l.from)
				v.deliver(i, l, from)
			}
		}
	}
}

// task runs the boards' task, and returns its answer; "" if it failed.
func (v *variant) task() string {
	out, _ := v.container().Invoke(context.Background(), []byte(BoardsTask))
	return string(out)
}

// compact runs a round of the compaction.
func (v *variant) compact() {
	enginetest.Delete(v.t, v.db, v.table, schema.CompactionPK, schema.SoleSK)
	_, err := v.container().Invoke(context.Background(), []byte(CompactionTask))
	if v.ended {
		require.NoError(v.t, err)
	}
}

// expire deletes what has expired.
func (v *variant) expire() {
	for _, it := range enginetest.Scan(v.t, v.db, v.table) {
		if dynamo.Expired(it, v.now()) {
			enginetest.Delete(v.t, v.db, v.table, dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		}
	}
}

// rest delivers all records, and runs the task until no note is left.
func (v *variant) rest() {
	for range 40 { // more than the remaining faults need
		v.drain()
		v.pass(recheck + time.Second)
		if v.task() == `{"looked":0,"failed":0,"later":0,"moved":0}` {
			return
		}
	}
	v.t.Fatalf("%+v: notes are left after 40 runs of the task", v.config)
}
