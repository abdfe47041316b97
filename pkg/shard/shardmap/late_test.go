package shardmap

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// lateWorld simulates processes that write and read events and count hits by one key, while transactions of the
// shard map lose their answers, are committed 1, 6 or 60 s after the caller's deadline, and changers die.
type lateWorld struct {
	*mapfake.Table
	random *rand.Rand // behind mu

	// Rules that a test removes.
	noVoid, noNewDate, repeats bool
	lookBack                   time.Duration
	getMargin, rangeMargin     time.Duration

	mu      sync.Mutex
	held    bool // by a transaction in flight
	events  map[string]*lateEvent
	stored  map[storedEvent]bool
	used    map[lateWindow]int
	allowed map[time.Time][]time.Time // when hits were decided on, by the begin of their window
	late    []lateCommit
	commits int
	voided  int
	redated int
	excused int
	missed  map[time.Time]error // by when it was read
	fault   error
}

type storedEvent struct {
	id    string
	place int
}

type lateEvent struct {
	id       string
	t        time.Time
	accepted bool
	written  []time.Time // when its writes were decided on
}

type lateWindow struct {
	start time.Time
	place int
}

// lateCommit is a change that was committed over CommitTime late.
type lateCommit struct {
	at, effective  time.Time
	changer        *lateProcess
	tried, redated bool      // its changer tried to date it again, and did
	again          time.Time // when it was dated again, or another change was made
}

func (l lateCommit) String() string {
	return fmt.Sprintf("committed at %v to take effect at %v, changer dead: %v, dated again at %v", l.at, l.effective, l.changer.dead, l.again)
}

const (
	lateKey    = "E#a"
	lateLength = 10 * time.Second // of a limit's window
	lateMax    = 12
)

func newLateWorld(seed uint64) *lateWorld {
	return &lateWorld{
		Table: mapfake.New(100, 0, 0), random: rand.New(rand.NewPCG(seed, 11)), lookBack: soundTimes.lookBack, getMargin: Margin, rangeMargin: Margin,
		events: map[string]*lateEvent{}, stored: map[storedEvent]bool{}, used: map[lateWindow]int{}, missed: map[time.Time]error{}, allowed: map[time.Time][]time.Time{},
	}
}

func (w *lateWorld) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *lateWorld) within(low, high time.Duration) time.Duration {
	return low + time.Duration(w.below(int(high-low)+1))
}

// lateProcess is a process, and its client until it dies.
type lateProcess struct {
	*lateWorld
	skew    time.Duration
	changer *Changer
	dead    bool // behind mu
}

func (w *lateWorld) process() *lateProcess {
	p := &lateProcess{lateWorld: w, skew: w.within(-Clocks/2, Clocks/2)}
	view := New(p, "m", Options{})
	view.log, view.times.lookBack = schema.MapLog(w.below(schema.MapLogs)), w.lookBack
	p.changer = NewChanger(p, view, ChangerOptions{Clock: p.now})
	return p
}

func (p *lateProcess) now() time.Time { return time.Now().Add(p.skew) }

func (p *lateProcess) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// call waits for one way of a call.
func (p *lateProcess) call(ctx context.Context) error {
	if p.isDead() {
		<-ctx.Done()
		return ctx.Err()
	}
	return p.Wait(ctx, p.within(0, 20*time.Millisecond))
}

func (p *lateProcess) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	return p.Table.GetItem(ctx, in, o...)
}

func (p *lateProcess) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	return p.Table.Query(ctx, in, o...)
}

func (p *lateProcess) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held || p.noVoid {
		return nil, &types.TransactionConflictException{}
	}
	out, err := p.Table.UpdateItem(ctx, in, o...)
	if p.mu.Lock(); err == nil {
		p.voided++
	}
	p.mu.Unlock()
	if err == nil && p.below(5) == 0 {
		return nil, &types.InternalServerError{}
	}
	return out, err
}

// TransactWriteItems loses some answers, and commits some transactions after the caller's deadline.
func (p *lateProcess) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	if p.datesAgain(in) && p.noNewDate {
		return nil, &types.ProvisionedThroughputExceededException{}
	}
	switch n := p.below(100); {
	case n < 60:
		return &dynamodb.TransactWriteItemsOutput{}, p.commit(in, false)
	case n < 65: // nothing is written
	case n < 75:
		_ = p.commit(in, false)
	default:
		dies := p.below(3) == 0
		delay := []time.Duration{time.Second, 6 * time.Second, 59 * time.Second}[p.below(3)]
		p.mu.Lock()
		p.dead = p.dead || dies
		held := !p.held && p.random.IntN(2) == 0
		p.held = p.held || held
		p.mu.Unlock()
		go func() {
			<-ctx.Done()
			time.Sleep(delay)
			_ = p.commit(in, held)
		}()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (p *lateProcess) commit(in *dynamodb.TransactWriteItemsInput, holder bool) error {
	p.Table.Mu.Lock()
	defer p.Table.Mu.Unlock()
	put := in.TransactItems[0].Put
	there := p.Items[mapfake.Slot(put.Item)]
	e, old := readEntry(lateKey, put.Item), readEntry(lateKey, there)
	again := there != nil && len(e.History) == len(old.History) && e.History.Newest() == old.History.Newest() && e.Effective() != old.Effective()
	p.mu.Lock()
	defer p.mu.Unlock()
	blocked := p.held && !holder
	p.held = blocked
	if blocked || !holds(put, there) {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	for _, action := range in.TransactItems {
		p.Put(action.Put.Item)
	}
	p.commits++
	if again {
		p.redated++
	}
	for i := range p.late {
		if l := &p.late[i]; l.again.IsZero() {
			l.again, l.redated = time.Now(), again && l.effective.Equal(old.Effective())
		}
	}
	if late := time.Since(e.Updated); late > CommitTime {
		p.late = append(p.late, lateCommit{at: time.Now(), effective: e.Effective(), changer: p})
	}
	return nil
}

// datesAgain reports whether a transaction only changes when the newest count takes effect, and notes the try.
func (p *lateProcess) datesAgain(in *dynamodb.TransactWriteItemsInput) bool {
	p.Table.Mu.Lock()
	defer p.Table.Mu.Unlock()
	put := in.TransactItems[0].Put
	e, old := readEntry(lateKey, put.Item), readEntry(lateKey, p.Items[mapfake.Slot(put.Item)])
	if len(e.History) != len(old.History) || e.History.Newest() != old.History.Newest() || e.Effective().Equal(old.Effective()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.late {
		if l := &p.late[i]; l.effective.Equal(old.Effective()) {
			l.tried = !p.noNewDate
		}
	}
	return true
}

// known returns when all processes have polled a late commit or its new date, at the latest. A living changer
// that saw its change missing after CommitTime must have dated it again.
func (l lateCommit) known() time.Time {
	const poll = ViewAge + Clocks + time.Second
	known := l.at // of a change that a living changer did not try to date again
	switch {
	case l.changer.dead:
		known = l.at.Add(LateTime + poll)
	case !l.again.IsZero() && (l.tried || l.again.Sub(l.at) < time.Second): // or another change came first
		return l.again.Add(poll)
	case l.at.Sub(l.effective.Add(-LeadTime)) <= 2*CommitTime+Clocks:
		known = l.at.Add(poll)
	}
	return known
}

// excuses reports whether processes may have gone by different counts for t, or at one of some times.
func (w *lateWorld) excuses(t time.Time, times []time.Time) bool {
	return slices.ContainsFunc(w.late, func(l lateCommit) bool {
		known := l.known()
		if !l.redated && known.After(l.at) && !t.Before(l.effective) && t.Before(known.Add(MaxAhead)) {
			return true
		}
		return slices.ContainsFunc(times, func(d time.Time) bool { return !d.Before(l.at) && d.Before(known) })
	})
}

func (w *lateWorld) fail(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf(format, args...)
	}
}

func (p *lateProcess) step() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	switch n := p.below(20); {
	case n < 2:
		p.change(ctx)
	case n < 8:
		p.write(ctx)
	case n < 12:
		p.hit(ctx)
	default:
		p.read(ctx)
	}
}

// change grows or shrinks the key.
func (p *lateProcess) change(ctx context.Context) {
	seen, err := p.changer.Refresh(ctx, lateKey, p.now())
	if err != nil {
		return
	}
	seen.Key = lateKey
	count := []int{1, 2, 5, 24}[p.below(4)]
	if count > seen.History.Newest() {
		_, _ = p.changer.GrowFrom(ctx, seen, count, Note{}, p.now())
	} else {
		_, _ = p.changer.ShrinkFrom(ctx, seen, count, Note{}, p.now())
	}
}

// write writes an event, or one of the last minute again.
func (p *lateProcess) write(ctx context.Context) {
	now := p.now()
	entry, err := p.changer.Lookup(ctx, lateKey, now)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ev := &lateEvent{id: fmt.Sprint(len(p.events)), t: now.Add(time.Duration(p.random.IntN(int(MaxAhead + 10*time.Second)))).Add(-10 * time.Second)}
	if ids := slices.Sorted(maps.Keys(p.events)); len(ids) > 0 && p.random.IntN(2) == 0 {
		if old := p.events[ids[p.random.IntN(len(ids))]]; !old.t.After(now.Add(MaxAhead)) {
			ev = old
		}
	}
	p.events[ev.id] = ev
	p.stored[storedEvent{ev.id, shard.Calculated(ev.id, entry.History.At(ev.t))}] = true
	ev.accepted, ev.written = true, append(ev.written, time.Now())
}

func (p *lateProcess) hit(ctx context.Context) {
	now := p.now()
	entry, err := p.changer.Lookup(ctx, lateKey, now)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	start := now.Truncate(lateLength)
	first := entry.History.At(start)
	for place := range first {
		share := lateMax / first
		if place < lateMax%first {
			share++
		}
		for at := (lateWindow{start, place}); p.used[at] < share; p.used[at]++ {
			p.allowed[start] = append(p.allowed[start], time.Now())
		}
	}
}

// read looks up an event, and reads a range around it.
func (p *lateProcess) read(ctx context.Context) {
	begun := time.Now()
	entry, err := p.changer.Lookup(ctx, lateKey, p.now())
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := slices.Sorted(maps.Keys(p.events))
	if len(ids) == 0 {
		return
	}
	ev := p.events[ids[p.random.IntN(len(ids))]]
	if ev.written[0].After(begun) {
		return
	}
	places := entry.PlacesDuring(shard.Calculated, ev.id, ev.t.Add(-p.getMargin), ev.t.Add(p.getMargin))
	if !slices.ContainsFunc(places, func(n int) bool { return p.stored[storedEvent{ev.id, n}] }) {
		p.missed[begun] = fmt.Errorf("at %v an event of %v is not found on %v by %v", begun, ev.t, places, entry.History)
	}
	found := 0
	for n := range entry.Shards(ev.t.Add(-p.rangeMargin), ev.t.Add(p.rangeMargin)) {
		if p.stored[storedEvent{ev.id, n}] && (found == 0 || p.repeats) {
			found++
		}
	}
	if found != 1 {
		p.missed[begun] = fmt.Errorf("at %v a range has an event of %v %d times by %v", begun, ev.t, found, entry.History)
	}
}

// verdict checks rollups and limits.
func (w *lateWorld) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, err := range w.missed {
		if w.excuses(time.Time{}, []time.Time{at}) {
			w.excused++
		} else {
			w.fail("%w: %v", err, w.late)
		}
	}
	inserted := map[string]int{}
	for s := range w.stored {
		inserted[s.id]++
	}
	for id, n := range inserted {
		if ev := w.events[id]; n > 1 && w.excuses(ev.t, ev.written) {
			w.excused++
		} else if n > 1 {
			w.fail("a rollup counts the event of %v %d times, written at %v: %v", ev.t, n, ev.written, w.late)
		}
	}
	for start, hits := range w.allowed {
		if len(hits) > lateMax && w.excuses(start, hits) {
			w.excused++
		} else if len(hits) > lateMax {
			w.fail("the window from %v allowed %d hits of %d: at %v: %v", start, len(hits), lateMax, hits, w.late)
		}
	}
	return w.fault
}

// playLate runs a seed's world after change was applied to it.
func playLate(t *testing.T, seed uint64, change func(*lateWorld)) (w *lateWorld, err error) {
	synctest.Test(t, func(*testing.T) {
		w = newLateWorld(seed)
		change(w)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				p := w.process()
				for range 60 {
					time.Sleep(p.within(0, 5*time.Second))
					if p.isDead() {
						p = w.process()
					}
					p.step()
				}
			})
		}
		group.Wait()
		time.Sleep(10 * time.Minute) // for what is in flight
		err = w.verdict()
	})
	return w, err
}

// TestLateCommits checks that events are found once and that rollups and limits are exact, however late changes are
// committed, except for as long as docs/limits.md says after a late commit.
func TestLateCommits(t *testing.T) {
	first, seeds := uint64(time.Now().UnixNano()), uint64(lane.Runs(2000, 100_000))
	t.Logf("seeds %d and the %d after it", first, seeds-1)
	sum := lateWorld{}
	for seed := first; seed < first+seeds; seed++ {
		w, err := playLate(t, seed, func(*lateWorld) {})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sum.commits, sum.voided, sum.redated, sum.excused = sum.commits+w.commits, sum.voided+w.voided, sum.redated+w.redated, sum.excused+w.excused
		sum.late = append(sum.late, w.late...)
	}
	t.Logf("%d commits, %d late; %d voided, %d dated again; %d differences within the exception", sum.commits, len(sum.late), sum.voided, sum.redated, sum.excused)
	if len(sum.late) == 0 || sum.voided == 0 || sum.redated == 0 {
		t.Error("too little happened")
	}
}

// TestEachRuleOfLateCommitsIsNeeded removes each rule, and wants a difference.
func TestEachRuleOfLateCommitsIsNeeded(t *testing.T) {
	for name, without := range map[string]func(*lateWorld){
		"a changer without an answer voids its change":    func(w *lateWorld) { w.noVoid = true },
		"a change that was committed late is dated again": func(w *lateWorld) { w.noNewDate = true },
		"once a minute a poll looks back":                 func(w *lateWorld) { w.lookBack = 10_000 * time.Hour },
		"a look-up asks the place by the count before":    func(w *lateWorld) { w.getMargin = 15 * time.Second },
		"a range reads the write shards of two minutes":   func(w *lateWorld) { w.rangeMargin = 15 * time.Second },
		"a range drops an event that is at another place": func(w *lateWorld) { w.repeats = true },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 3000
			for seed := range uint64(most) {
				if _, err := playLate(t, seed, without); err != nil {
					t.Logf("seed %d: %.300v", seed, err)
					return
				}
			}
			t.Errorf("%d worlds without it went well", most)
		})
	}
}
