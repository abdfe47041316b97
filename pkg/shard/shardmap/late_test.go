package shardmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// lateWorld simulates processes that write and read events and count hits of one key. Transactions of the shard map lose
// their answers or are committed 1, 6 or 59 s after the caller's deadline, and changers die.
type lateWorld struct {
	*mapfake.Table
	random *rand.Rand // behind mu

	// Rules that a test removes.
	noVoid, noNewDate, repeats bool
	lookBack, longer           time.Duration
	getMargin, rangeAhead      time.Duration
	rewrite                    func(old, next Entry) Entry // replaces each change; may be nil

	// Settings that make violations of a removed rule frequent.
	growthsLate bool // half of the growths are committed 59 s late, and all other changes at once
	free        bool // late transactions don't block others
	restarts    bool // processes start again and again
	deaths      int  // percent of changers that die in a late transaction

	kind kind.Kind // of the events; times of OwnRandom are not ahead

	mu      sync.Mutex
	held    bool // a transaction in flight blocks the key's item
	events  []*lateEvent
	used    map[lateWindow]int
	allowed map[time.Time][]time.Time // when hits were decided on, by the begin of their window
	late    []*lateCommit
	missed  []lateMiss
	count   lateCount
	fault   error
	history []string // commits, printed with a fault
}

// lateCount counts events of a simulation. A test that has seen none of a kind fails.
type lateCount struct{ commits, late, voided, redated, hidden, events, retried, excused int }

type lateEvent struct {
	id      string
	t       time.Time
	places  []int
	written []time.Time // when its writes were decided on
}

type lateWindow struct {
	start time.Time
	place int
}

// lateMiss is a read that did not find an event exactly once.
type lateMiss struct {
	at  time.Time
	of  *lateEvent
	err error
}

// lateCommit is a growth that was committed over CommitTime late.
type lateCommit struct {
	at, from time.Time // when it was committed, and from when on it changed counts
	changer  *lateProcess
	tried    bool      // its changer tried to date it again, or was blocked by another transaction in flight
	redated  bool      // its changer dated it again
	next     time.Time // when it was dated again, or the next change was committed in time
}

func (l *lateCommit) String() string {
	return fmt.Sprintf("committed at %v with new counts from %v on, changer dead: %v, dated again or changed at %v", l.at, l.from, l.changer.dead, l.next)
}

const (
	lateKey    = "E#a"
	lateLength = 10 * time.Second // of a limit's window
	lateMax    = 12
)

func newLateWorld(seed uint64) *lateWorld {
	return &lateWorld{
		Table: mapfake.New(100, 0, 0), random: rand.New(rand.NewPCG(seed, 11)), lookBack: soundTimes.lookBack, longer: shrinkLead, deaths: 33,
		used: map[lateWindow]int{}, allowed: map[time.Time][]time.Time{}, kind: []kind.Kind{kind.OwnTimed, kind.OwnRandom}[seed%2],
	}
}

// ahead returns how far ahead of now events' times may lie.
func (w *lateWorld) ahead() time.Duration {
	if w.kind == kind.OwnRandom {
		return 0
	}
	return MaxAhead
}

func (w *lateWorld) note() Note { return Note{Kind: string(w.kind)} }

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
	p.changer.longer = w.longer
	return p
}

func (p *lateProcess) now() time.Time { return time.Now().Add(p.skew) }

func (p *lateProcess) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// call waits for one direction of a call.
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

// PutItem voids a change.
func (p *lateProcess) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held || p.noVoid {
		return nil, &types.TransactionConflictException{}
	}
	out, err := p.Table.PutItem(ctx, in, o...)
	if p.mu.Lock(); err == nil {
		p.count.voided++
	}
	p.mu.Unlock()
	if err == nil && p.below(5) == 0 {
		return nil, &types.InternalServerError{}
	}
	return out, err
}

// TransactWriteItems loses some answers and commits some transactions after the caller's deadline.
func (p *lateProcess) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := p.call(ctx); err != nil {
		return nil, err
	}
	if p.dateAgain(in) && p.noNewDate {
		return nil, &types.ProvisionedThroughputExceededException{}
	}
	switch n := p.below(100); {
	case p.growthsLate && (n < 50 || !p.grows(in)), n < 60 && !p.growthsLate:
		return &dynamodb.TransactWriteItemsOutput{}, p.commit(in, false)
	case n < 65 && !p.growthsLate: // nothing is written
	case n < 75 && !p.growthsLate:
		_ = p.commit(in, false)
	default:
		dies, delay := p.below(100) < p.deaths, []time.Duration{time.Second, 6 * time.Second, 59 * time.Second}[p.below(3)]
		if p.growthsLate {
			delay = 59 * time.Second
		}
		p.mu.Lock()
		p.dead = p.dead || dies
		held := !p.held && !p.free && (p.growthsLate || p.random.IntN(2) == 0)
		p.held = p.held || held
		for _, l := range p.late {
			l.tried = l.tried || held && l.next.IsZero() && time.Since(l.at) < 2*time.Second
		}
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

// grows reports whether a transaction raises the newest count.
func (p *lateProcess) grows(in *dynamodb.TransactWriteItemsInput) bool {
	p.Table.Mu.Lock()
	defer p.Table.Mu.Unlock()
	put := in.TransactItems[0].Put
	return readEntry(lateKey, put.Item).History.Newest() > readEntry(lateKey, p.Items[mapfake.Slot(put.Item)]).History.Newest()
}

func (p *lateProcess) commit(in *dynamodb.TransactWriteItemsInput, holder bool) error {
	p.Table.Mu.Lock()
	defer p.Table.Mu.Unlock()
	put := in.TransactItems[0].Put
	there := p.Items[mapfake.Slot(put.Item)]
	e, old := readEntry(lateKey, put.Item), readEntry(lateKey, there)
	p.mu.Lock()
	defer p.mu.Unlock()
	blocked := p.held && !holder
	p.held = blocked
	if blocked || !holds(put, there) {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	if p.rewrite != nil {
		e = p.rewrite(old, e)
		in = &dynamodb.TransactWriteItemsInput{TransactItems: append([]types.TransactWriteItem{{Put: &types.Put{Item: e.attributes()}}}, p.changer.logPuts(e)...)}
	}
	for _, action := range in.TransactItems {
		p.Put(action.Put.Item)
	}
	p.committed(old, e)
	return nil
}

// committed records a commit. The caller holds mu.
func (p *lateProcess) committed(old, e Entry) {
	now, decided := time.Now(), e.Updated.Add(-p.skew)
	p.history = append(p.history, fmt.Sprintf("%v decided %v (skew %v) v%d %v", now.Format("04:05.000"), decided.Format("04:05.000"), p.skew, e.Version, e.History))
	same := 0 // number of unchanged changes at the history's begin
	for same < len(old.History) && same < len(e.History) && old.History[same] == e.History[same] {
		same++
	}
	again, late := redates(old, e), now.Sub(decided) > CommitTime+200*time.Millisecond
	p.count.commits++
	if again {
		p.count.redated++
	}
	if !again && same < len(old.History) {
		p.count.hidden++
	}
	for i, l := range p.late {
		if l.next.IsZero() && !late {
			l.next, l.redated = now, again && i == len(p.late)-1
		}
	}
	at := e.Updated.Add(p.changer.leadOf(string(p.kind)) + Clocks)
	if n := e.History.Newest(); n > old.History.Newest() && e.History.Max(at, at.Add(20*time.Millisecond)) < n {
		p.fail("a growth waits: at %v from %v to %v", now, old.History, e.History)
	}
	if late && (again || e.History.Newest() > old.History.Newest()) {
		p.count.late++
		p.late = append(p.late, &lateCommit{at: now, from: e.History[same].At, changer: p})
		if again && old.History[same].At.Before(e.History[same].At) {
			p.late[len(p.late)-1].from = old.History[same].At
		}
	} else if late {
		p.count.late++ // a late decrease is harmless
	}
}

// redates reports whether a change only changes when the newest count takes effect.
func redates(old, e Entry) bool {
	return len(old.History) > 0 && e.History.Newest() == old.History.Newest() && e.Pinned == old.Pinned && e.Effective() != old.Effective()
}

// dateAgain reports whether a transaction dates a change again, and records the attempt.
func (p *lateProcess) dateAgain(in *dynamodb.TransactWriteItemsInput) bool {
	p.Table.Mu.Lock()
	defer p.Table.Mu.Unlock()
	put := in.TransactItems[0].Put
	if !redates(readEntry(lateKey, p.Items[mapfake.Slot(put.Item)]), readEntry(lateKey, put.Item)) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.late {
		l.tried = l.tried || l.changer == p && l.next.IsZero() && !p.noNewDate
	}
	return true
}

// known returns by when all processes know a late commit or its new date. That is a poll after the next change, or a
// minute and a poll after the commit if the changer died. A living changer notices its commit within 1.3 s, the longest pause of
// void in that minute. Until then another process may make the next change, whose history contains the late one.
func (l *lateCommit) known() time.Time {
	const poll, notice = ViewAge + 200*time.Millisecond, 1500 * time.Millisecond
	known := l.at.Add(notice + poll)
	if l.changer.dead || l.tried {
		known = l.at.Add(LateTime + poll)
	}
	if next := l.next.Add(poll); !l.next.IsZero() && (!l.changer.dead && l.tried || next.Before(known)) {
		known = next
	}
	return known
}

// excuses reports whether processes may have used different counts for t at the given times, because not all knew a
// late commit. If the commit keeps its date, processes also differed before the commit.
func (w *lateWorld) excuses(t time.Time, times ...time.Time) bool {
	return slices.ContainsFunc(w.late, func(l *lateCommit) bool {
		known := l.known()
		if t.Before(l.from) || t.After(known.Add(w.ahead())) {
			return false
		}
		if !l.redated {
			return !slices.MinFunc(times, time.Time.Compare).After(known) && !slices.MaxFunc(times, time.Time.Compare).Before(l.at)
		}
		return slices.ContainsFunc(times, func(d time.Time) bool { return !d.Before(l.at) && !d.After(known) })
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

// change grows, shrinks, pins or unpins the key.
func (p *lateProcess) change(ctx context.Context) {
	seen, err := p.changer.Refresh(ctx, lateKey)
	if err != nil {
		return
	}
	seen.Key = lateKey
	count := []int{1, 2, 5, 24}[p.below(4)]
	switch n := p.below(8); {
	case seen.Pinned:
		_, _ = p.changer.Unpin(ctx, lateKey, p.note(), p.now())
	case n == 0:
		_, _ = p.changer.Pin(ctx, lateKey, count, p.note(), p.now())
	case count > seen.History.Newest():
		_, _ = p.changer.GrowFrom(ctx, seen, count, p.note(), p.now())
	default:
		_, _ = p.changer.ShrinkFrom(ctx, seen, count, p.note(), p.now())
	}
}

// write writes a new event, or repeats an earlier write.
func (p *lateProcess) write(ctx context.Context) {
	now := p.now()
	entry, err := p.changer.Lookup(ctx, lateKey, now)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	past := []time.Duration{time.Second, 10 * time.Second, 150 * time.Second}[p.random.IntN(3)]
	ev := &lateEvent{id: fmt.Sprint(len(p.events)), t: now.Add(p.ahead() - time.Duration(p.random.Int64N(int64(past)))).Truncate(time.Millisecond)}
	if n := len(p.events); n > 0 && p.random.IntN(2) == 0 {
		if old := p.events[max(0, n-1-p.random.IntN(20))]; !old.t.After(now.Add(p.ahead())) {
			ev = old
			p.count.retried++
		}
	}
	if len(ev.written) == 0 {
		p.events = append(p.events, ev)
		p.count.events++
	}
	if n := shard.Calculated(ev.id, entry.History.At(ev.t)); !slices.Contains(ev.places, n) {
		ev.places = append(ev.places, n)
	}
	ev.written = append(ev.written, time.Now())
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
	if len(p.events) == 0 {
		return
	}
	ev := p.events[max(0, len(p.events)-1-p.random.IntN(40))]
	if ev.written[0].After(begun) {
		return
	}
	places := entry.PlacesAt(shard.Calculated, ev.id, ev.t)
	if p.getMargin > 0 {
		places = nil
		for _, n := range entry.History.Counts(ev.t.Add(-p.getMargin), ev.t.Add(p.getMargin)) {
			places = append(places, shard.Calculated(ev.id, n))
		}
	}
	if !slices.ContainsFunc(places, func(n int) bool { return slices.Contains(ev.places, n) }) {
		p.missed = append(p.missed, lateMiss{begun, ev, fmt.Errorf("a look-up at %v finds no event of %v on write shards %v by history %v: it is on %v", begun, ev.t, places, entry.History, ev.places)})
	}
	count, found := entry.RangeShards(ev.t, ev.t), 0
	if p.rangeAhead > 0 {
		count = entry.Shards(ev.t.Add(-Margin), ev.t.Add(p.rangeAhead))
	}
	for _, n := range ev.places {
		if n < count && (found == 0 || p.repeats) {
			found++
		}
	}
	if found != 1 {
		p.missed = append(p.missed, lateMiss{begun, ev, fmt.Errorf("a range at %v has an event of %v %d times by history %v, want once: it is on write shards %v", begun, ev.t, found, entry.History, ev.places)})
	}
}

// verdict checks reads, rollups and limits.
func (w *lateWorld) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.missed {
		if w.excuses(m.of.t, m.at) {
			w.count.excused++
		} else {
			w.fail("%w: written at %v: %v", m.err, m.of.written, w.late)
		}
	}
	for _, ev := range w.events {
		if n := len(ev.places); n > 1 && w.excuses(ev.t, ev.written...) {
			w.count.excused++
		} else if n > 1 {
			w.fail("a rollup counts the event of %v %d times, want once: written at %v: %v", ev.t, n, ev.written, w.late)
		}
	}
	for start, hits := range w.allowed {
		if len(hits) > lateMax && w.excuses(start, hits...) {
			w.count.excused++
		} else if len(hits) > lateMax {
			w.fail("the window from %v allowed %d hits, want at most %d: at %v: %v", start, len(hits), lateMax, slices.CompactFunc(hits, time.Time.Equal), w.late)
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
					time.Sleep(p.within(0, []time.Duration{time.Second, time.Second, time.Second, 30 * time.Second}[p.below(4)]))
					if p.isDead() || p.restarts && p.below(2) == 0 {
						p = w.process()
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

// TestLateCommits checks that events are found once, and that rollups and limits are exact, however late changes are
// committed. The exception is the time that docs/limits.md allows after the late commit of a growth.
func TestLateCommits(t *testing.T) {
	first, seeds := uint64(time.Now().UnixNano()), uint64(lane.Runs(500, 100_000))
	t.Logf("seeds %d and the %d after it", first, seeds-1)
	sum := lateCount{}
	for seed := first; seed < first+seeds; seed++ {
		w, err := playLate(t, seed, func(*lateWorld) {})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(w.history, "\n"))
		}
		for i, n := range w.count.all() {
			*sum.all()[i] += *n
		}
	}
	t.Logf("%+v", sum)
	for i, n := range sum.all() {
		if *n == 0 {
			t.Errorf("lateCount field %d is zero in %+v: the worlds lack such an event", i, sum)
		}
	}
}

func (c *lateCount) all() []*int {
	return []*int{&c.commits, &c.late, &c.voided, &c.redated, &c.hidden, &c.events, &c.retried, &c.excused}
}

// lateRule is a rule of late commits. The function remove takes the rule away from a world, which then has a fault. The
// fault's text begins with want.
type lateRule struct {
	world  func(*lateWorld)
	remove func(*lateWorld)
	want   string
}

// lateRules has each rule by its name. world makes violations of a rule frequent; with the rule, there are none.
var lateRules = map[string]lateRule{
	"a changer voids its change after an ambiguous result": {
		func(w *lateWorld) { w.growthsLate, w.free, w.deaths = true, true, 0 },
		func(w *lateWorld) { w.noVoid = true }, "a rollup",
	},
	"a growth that was committed late is dated again": {
		func(w *lateWorld) { w.growthsLate, w.deaths = true, 0 },
		func(w *lateWorld) { w.noNewDate = true }, "a rollup",
	},
	"once a minute a poll looks back":                  {dieLate, func(w *lateWorld) { w.lookBack = 10_000 * time.Hour }, "a look-up"},
	"a look-up also asks write shards by other counts": {dieLate, func(w *lateWorld) { w.getMargin = Margin }, "a look-up"},
	"a range drops duplicates on another write shard":  {dieLate, func(w *lateWorld) { w.repeats = true }, "a range"},
	"all know a decrease before it takes effect":       {remove: func(w *lateWorld) { w.longer = 0 }, want: "a range"},
	"a growth does not wait for a decrease": {remove: func(w *lateWorld) {
		w.rewrite = func(old, e Entry) Entry {
			if n := e.History.Newest(); n > old.History.Newest() && !e.Effective().After(old.Effective()) {
				e.History = append(old.History, shard.Change{At: old.Effective().Add(time.Millisecond), Count: n})
			}
			return e
		}
	}, want: "a growth waits"},
	"a hidden decrease stays in the history": {
		func(w *lateWorld) { w.growthsLate, w.deaths, w.longer = true, 100, 30*time.Second },
		func(w *lateWorld) {
			w.rewrite = func(_, e Entry) Entry {
				for i := len(e.History) - 2; i >= 0; i-- {
					if e.History[i+1].At.Sub(e.History[i].At) == time.Millisecond {
						e.History = slices.Delete(e.History, i, i+1)
					}
				}
				return e
			}
		}, "a look-up",
	},
}

func dieLate(w *lateWorld) { w.growthsLate, w.deaths = true, 100 }

// TestEachRuleOfLateCommitsIsNeeded removes each rule and wants the fault that the rule prevents.
func TestEachRuleOfLateCommitsIsNeeded(t *testing.T) {
	for name, rule := range lateRules {
		t.Run(name, func(t *testing.T) {
			const most = 5000
			for seed := range uint64(20) {
				if rule.world == nil {
					rule.world = func(*lateWorld) {}
				} else if _, err := playLate(t, seed, rule.world); err != nil {
					t.Fatalf("seed %d, with the rule: %v", seed, err)
				}
			}
			for seed := range uint64(most) {
				if _, err := playLate(t, seed, func(w *lateWorld) { rule.world(w); rule.remove(w) }); err != nil && strings.HasPrefix(err.Error(), rule.want) {
					t.Logf("seed %d: %.400v", seed, err)
					return
				}
			}
			t.Errorf("%d worlds without the rule have no fault %q", most, rule.want)
		})
	}
}
