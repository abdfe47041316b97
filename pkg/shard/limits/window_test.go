package limits

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// windowStart is the start of the tests' windows.
var windowStart = time.Unix(1_800_000_000, 0)

// divisionOf returns the division of a Max over write shards of a window of two hours.
func divisionOf(limit int64, first, newest, all int) *division {
	return &division{
		Limit: Limit{Key: "k", Max: limit, Window: 2 * time.Hour},
		items: "t", start: windowStart, withShare: first, newest: newest, allShards: all,
	}
}

// windowOf returns a window with the cached use of write shards, and those that are spent for a Max.
func windowOf(used, spent map[int]int64) *limitWindow {
	w := newLimitWindow()
	for n, u := range used {
		w.used[n] = use{u, max(u, 0)}
	}
	maps.Copy(w.spent, spent)
	return w
}

// TestMaxIsDivided checks that the shares differ by one at most, that their sum is Max, and that no other write shard has one.
func TestMaxIsDivided(t *testing.T) {
	for _, c := range []struct {
		limit      int64
		first, all int
		want       []int64
	}{
		{1, 1, 1, []int64{1}}, {10, 1, 2, []int64{10, 0}}, {10, 3, 5, []int64{4, 3, 3, 0, 0}},
		{11, 3, 3, []int64{4, 4, 3}}, {12, 3, 4, []int64{4, 4, 4, 0}}, {2, 3, 4, []int64{1, 1, 0, 0}},
	} {
		d := divisionOf(c.limit, c.first, c.first, c.all)
		got := make([]int64, c.all)
		for n := range got {
			got[n] = d.share(n)
			if d.hasShare(n) != (n < c.first) {
				t.Errorf("%d of %d write shards: hasShare(%d) = %t", c.first, c.all, n, d.hasShare(n))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d over %d of %d write shards: %v, want %v", c.limit, c.first, c.all, got, c.want)
		}
	}
}

// TestExpiryCountsFromWindowsEnd checks that use is kept for an hour after its window, or the next one if the limit slides.
func TestExpiryCountsFromWindowsEnd(t *testing.T) {
	february := time.Date(2028, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		window  time.Duration
		sliding bool
		start   time.Time
		want    time.Time
	}{
		{time.Second, false, windowStart, windowStart.Add(time.Second + time.Hour)},
		{720 * time.Hour, false, windowStart, windowStart.Add(721 * time.Hour)},
		{time.Minute, true, windowStart, windowStart.Add(2*time.Minute + time.Hour)},
		{Month, false, february, time.Date(2028, 3, 1, 1, 0, 0, 0, time.UTC)},
		{Month, true, february, time.Date(2028, 4, 1, 1, 0, 0, 0, time.UTC)},
	} {
		d := divisionOf(10, 1, 1, 1)
		d.Window, d.Sliding, d.start = c.window, c.sliding, c.start
		u := d.update(change{0, 1, 1})
		if got := dynamo.Digits(u.ExpressionAttributeValues, ":expires"); got != fmt.Sprint(c.want.Unix()) || !strings.Contains(*u.UpdateExpression, "expires_at = :expires") {
			t.Errorf("%+v: expires_at is %s", c, got)
		}
	}
}

// TestUpdates checks the condition of each change of write shards with shares 4, 3, 3 and 0: an item may be absent only if its
// share is large enough. What receives quota has no condition.
func TestUpdates(t *testing.T) {
	absent, used, hits := "attribute_not_exists(#used) OR #used <= :bound", "#used <= :bound", "#hits >= :bound"
	for _, c := range []struct {
		change    change
		bound     int64
		condition string
	}{
		{change{0, 1, 1}, 3, absent}, {change{1, 1, 1}, 2, absent}, {change{0, 4, 4}, 0, absent}, {change{0, 5, 5}, -1, used},
		{change{1, 4, 4}, -1, used}, {change{3, 1, 1}, -1, used}, {change{3, 7, 7}, -7, used}, {change{0, 4, 0}, 0, absent},
		{change{0, -2, -2}, 2, hits}, {change{3, -7, -7}, 7, hits}, {change{3, -5, 1}, 0, ""},
	} {
		want := &types.Update{
			TableName: aws.String("t"), Key: dynamo.Key(fmt.Sprint("R#k#7200#1800000000#", c.change.n), "-"),
			UpdateExpression:         aws.String("SET expires_at = :expires ADD #used :used, #hits :hits"),
			ExpressionAttributeNames: map[string]string{"#used": "used", "#hits": "hits"},
			ExpressionAttributeValues: dynamo.Item{
				":used": dynamo.Number(c.change.used), ":hits": dynamo.Number(c.change.hits), ":expires": dynamo.Number(windowStart.Add(3 * time.Hour).Unix()),
			},
		}
		if c.condition != "" {
			want.ConditionExpression, want.ReturnValuesOnConditionCheckFailure = &c.condition, types.ReturnValuesOnConditionCheckFailureAllOld
			want.ExpressionAttributeValues[":bound"] = dynamo.Number(c.bound)
		}
		if got := divisionOf(10, 3, 4, 4).update(c.change); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %+v, want %+v", c.change, got, want)
		}
	}
}

// TestRemainingQuota checks the quota that a process knows of, by what it has cached, for shares of 4, 3 and 3 of five write
// shards. A write shard without a share may get quota until it is spent for this Max.
func TestRemainingQuota(t *testing.T) {
	for name, c := range map[string]struct {
		used, spent map[int]int64
		left        []int64
		isFull      []bool
	}{
		"nothing cached":      {nil, nil, []int64{4, 3, 3, 0, 0}, []bool{false, false, false, false, false}},
		"used":                {map[int]int64{0: 3, 1: 3, 2: 2, 3: 0}, nil, []int64{1, 0, 1, 0, 0}, []bool{false, true, false, false, false}},
		"transferred":         {map[int]int64{0: 4, 3: -2, 4: -1}, nil, []int64{0, 3, 3, 2, 1}, []bool{true, false, false, false, false}},
		"spent":               {map[int]int64{3: 0, 4: -1}, map[int]int64{3: 10, 4: 10}, []int64{4, 3, 3, 0, 0}, []bool{false, false, false, true, true}},
		"spent for a smaller": {map[int]int64{4: -1}, map[int]int64{3: 9, 4: 9}, []int64{4, 3, 3, 0, 1}, []bool{false, false, false, false, false}},
		"spent for a larger":  {nil, map[int]int64{3: 11}, []int64{4, 3, 3, 0, 0}, []bool{false, false, false, true, false}},
		"used beyond a share": {map[int]int64{0: 9, 1: 4}, nil, []int64{0, 0, 3, 0, 0}, []bool{true, true, false, false, false}},
	} {
		w, d := windowOf(c.used, c.spent), divisionOf(10, 3, 5, 5)
		if got := w.remaining(d); !slices.Equal(got, c.left) {
			t.Errorf("%s: %v left, want %v", name, got, c.left)
		}
		full := 0
		for full < 5 && c.isFull[full] {
			full++
		}
		for n, want := range c.isFull {
			if got := w.isFull(d, n); got != want {
				t.Errorf("%s: isFull(%d) = %t", name, n, got)
			}
			if got := w.full(d, n+1); got != (n < full) {
				t.Errorf("%s: full(%d) = %t, want %t", name, n+1, got, n < full)
			}
		}
	}
	if w := newLimitWindow(); !w.isFull(divisionOf(2, 3, 3, 3), 2) {
		t.Error("a write shard with a share of 0 is not full")
	}
	w := windowOf(nil, map[int]int64{3: 10})
	w.setSpent(3, 9)
	w.setSpent(4, 5)
	if !maps.Equal(w.spent, map[int]int64{3: 10, 4: 5}) {
		t.Errorf("spent for %v, want the highest Max of each write shard", w.spent)
	}
}

// TestCachedChange checks what is cached after a transaction: if the cached use has changed meanwhile, or if the outcome is
// unknown and the write shard has no share, its use is forgotten.
func TestCachedChange(t *testing.T) {
	for _, c := range []struct {
		cached, before use
		made, hasShare bool
		want           map[int]use
	}{
		{use{3, 3}, use{3, 3}, true, true, map[int]use{1: {5, 4}}}, {use{-4, 0}, use{-4, 0}, true, false, map[int]use{1: {-2, 1}}},
		{use{4, 4}, use{3, 3}, true, true, map[int]use{}}, {use{-9, 0}, use{-4, 0}, true, false, map[int]use{}},
		{use{3, 3}, use{3, 3}, false, true, map[int]use{1: {3, 3}}}, {use{-4, 0}, use{-4, 0}, false, false, map[int]use{}},
	} {
		w := newLimitWindow()
		w.cacheUse(1, c.cached)
		if w.cacheChange(change{1, 2, 1}, c.before, c.made, c.hasShare); !maps.Equal(w.used, c.want) {
			t.Errorf("%+v: cached %v", c, w.used)
		}
	}
}

// TestTotalUse checks the total after a read of all write shards: it adds the process's hits since the read began, and is
// 0 to the highest Max of the process.
func TestTotalUse(t *testing.T) {
	w := windowOf(map[int]int64{0: 30, 1: 12, 2: -9, 3: 100}, nil)
	w.used[2] = use{-9, 3} // it has used 3 of 12 that it got
	w.setTotal(3, 4, windowStart)
	for _, c := range []struct {
		own, limit, want int64
	}{{4, 100, 45}, {6, 100, 47}, {6, 30, 47}, {80, 100, 100}, {80, 101, 101}, {80, 10, 101}} {
		w.own = c.own
		if got := w.totalUsed(c.limit); got != c.want {
			t.Errorf("%+v: totalUsed = %d", c, got)
		}
	}
	empty := newLimitWindow()
	empty.setTotal(1, 3, windowStart)
	if got := empty.totalUsed(10); got != 0 {
		t.Errorf("totalUsed = %d before the process's hits are read, want 0", got)
	}
}

// TestOneReadForEachInterval checks that one of several callers reads, and the next one after the interval, or if the clock
// was set back.
func TestOneReadForEachInterval(t *testing.T) {
	w := newLimitWindow()
	for i, c := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {0, false}, {999 * time.Millisecond, false}, {time.Second, true}, {time.Second, false}, {time.Second / 2, true}, {time.Second, false}} {
		if got := w.claimRead(windowStart.Add(c.at), time.Second); got != c.want {
			t.Errorf("claim %d, after %v: %t", i, c.at, got)
		}
	}
}

// drawn returns how often each result of draws occurs.
func drawn(draws int, draw func() int) map[int]int {
	counts := map[int]int{}
	for range draws {
		counts[draw()]++
	}
	return counts
}

// TestChosenWriteShards checks which write shards a hit chooses, and how often of 4,000 times. A count may differ by 350 from
// the expected one, more than 12 standard deviations.
func TestChosenWriteShards(t *testing.T) {
	const none = -7
	for name, c := range map[string]struct {
		division    *division
		used, spent map[int]int64
		last        int
		want        map[int]int
	}{
		"equal shares":                  {divisionOf(8, 2, 2, 2), nil, nil, -1, map[int]int{0: 2000, 1: 2000}},
		"not the last":                  {divisionOf(8, 2, 2, 2), nil, nil, 1, map[int]int{0: 3000, 1: 1000}},
		"one is full":                   {divisionOf(8, 2, 2, 2), map[int]int64{0: 4}, nil, 1, map[int]int{1: 4000}},
		"all are full":                  {divisionOf(8, 2, 2, 2), map[int]int64{0: 4, 1: 4}, nil, -1, map[int]int{none: 4000}},
		"new ones first":                {divisionOf(8, 1, 3, 3), nil, nil, -1, map[int]int{1: 2000, 2: 2000}},
		"new ones with quota":           {divisionOf(8, 1, 3, 3), map[int]int64{1: -1}, nil, -1, map[int]int{1: 3000, 2: 1000}},
		"no quota yet":                  {divisionOf(8, 1, 3, 3), map[int]int64{1: -1, 2: 0}, nil, -1, map[int]int{1: 3000, 2: 1000}},
		"the last had quota":            {divisionOf(8, 1, 3, 3), map[int]int64{1: -1}, nil, 1, map[int]int{1: 1000, 2: 3000}},
		"new ones are spent":            {divisionOf(8, 1, 3, 3), nil, map[int]int64{1: 8, 2: 8}, -1, map[int]int{0: 4000}},
		"older ones come last":          {divisionOf(8, 2, 1, 3), nil, nil, -1, map[int]int{0: 4000}},
		"older ones with quota":         {divisionOf(8, 2, 1, 3), map[int]int64{0: 4}, nil, -1, map[int]int{1: 2000, 2: 2000}},
		"older ones with a known quota": {divisionOf(8, 2, 1, 3), map[int]int64{0: 4, 1: 4, 2: -1}, nil, -1, map[int]int{2: 4000}},
	} {
		w := windowOf(c.used, c.spent)
		got := drawn(4000, func() int {
			n, ok := w.chooseShard(c.division, c.last)
			if !ok {
				return none
			}
			return n
		})
		for n := range 3 {
			if math.Abs(float64(got[n]-c.want[n])) > 350 || (got[n] > 0) != (c.want[n] > 0) {
				t.Errorf("%s: chosen %v, want %v", name, got, c.want)
			}
		}
		if got[none] != c.want[none] {
			t.Errorf("%s: none %d times, want %d", name, got[none], c.want[none])
		}
	}
}

// TestDivideHits checks which changes take the quota for hits, the largest first, and how many hits are too many.
func TestDivideHits(t *testing.T) {
	left := []int64{5, 3, 0, 2}
	for _, c := range []struct {
		budget int
		hits   int64
		want   []change
		rest   int64
	}{
		{9, 5, []change{{0, 5, 5}}, 0}, {9, 6, []change{{0, 5, 5}, {1, 1, 1}}, 0}, {9, 10, []change{{0, 5, 5}, {1, 3, 3}, {3, 2, 2}}, 0},
		{9, 11, []change{{0, 5, 5}, {1, 3, 3}, {3, 2, 2}}, 1}, {2, 10, []change{{0, 5, 5}, {1, 3, 3}}, 2}, {2, 8, []change{{0, 5, 5}, {1, 3, 3}}, 0},
	} {
		if got, rest := divideHits(c.hits, left, c.budget); !slices.Equal(got, c.want) || rest != c.rest {
			t.Errorf("%d hits on %v: %v and %d, want %v and %d", c.hits, left, got, rest, c.want, c.rest)
		}
	}
}

// TestPlans checks the changes that count hits, or give them back, by the cached use: each of those that a random order gives.
// They are nil if the limit rejects the hits, or if the write shards must be read first.
func TestPlans(t *testing.T) {
	hundred := divisionOf(150, 150, 150, 150)
	take := func(n int, hits int64) change { return change{n, hits, hits} }
	for name, c := range map[string]struct {
		division *division
		used     map[int]int64
		hits     int64
		last     int
		want     [][]change // nil if the plan must be nil
	}{
		"one has them":            {divisionOf(10, 1, 1, 1), nil, 10, -1, [][]change{{take(0, 10)}}},
		"none has them":           {divisionOf(10, 1, 1, 1), map[int]int64{0: 1}, 10, -1, nil},
		"any of two":              {divisionOf(20, 2, 2, 2), nil, 10, -1, [][]change{{take(0, 10)}, {take(1, 10)}}},
		"the most first":          {divisionOf(20, 2, 2, 2), map[int]int64{0: 8, 1: 3}, 8, -1, [][]change{{take(1, 7), take(0, 1)}}},
		"a transfer":              {divisionOf(40, 1, 2, 2), nil, 3, -1, [][]change{{{0, 20, 0}, {1, -17, 3}}}},
		"a transfer, one more":    {divisionOf(8, 1, 2, 2), nil, 3, -1, [][]change{{{0, 4, 0}, {1, -1, 3}}}},
		"no transfer for as many": {divisionOf(6, 1, 2, 2), nil, 3, -1, [][]change{{take(0, 3)}}},
		"from the fullest quota":  {divisionOf(80, 2, 3, 3), map[int]int64{0: 4}, 2, -1, [][]change{{{1, 13, 0}, {2, -11, 2}}}},
		"new ones only":           {divisionOf(80, 2, 4, 4), map[int]int64{2: -9, 3: -5}, 5, -1, [][]change{{take(2, 5)}, {take(3, 5)}}},
		"one more than the quota": {divisionOf(80, 2, 3, 3), map[int]int64{0: 20, 1: 30, 2: -20}, 30, -1, [][]change{{take(2, 20), take(0, 10)}, {take(0, 20), take(2, 10)}}},
		"one hit, unknown":        {divisionOf(80, 2, 3, 3), nil, 1, -1, [][]change{{take(2, 1)}}},
		"one hit, no quota yet":   {divisionOf(80, 1, 2, 2), map[int]int64{1: 0}, 1, -1, [][]change{{{0, 40, 0}, {1, -39, 1}}}},
		"of a higher maximum":     {divisionOf(6, 1, 2, 2), map[int]int64{0: 4, 1: -50}, 3, -1, nil},
		"within its own maximum":  {divisionOf(6, 1, 2, 2), map[int]int64{0: 4, 1: -50}, 2, -1, [][]change{{take(1, 2)}}},
		"more than the maximum":   {hundred, nil, 100, -1, nil},
		"given back":              {divisionOf(80, 2, 2, 2), map[int]int64{0: 4, 1: 9}, -8, -1, [][]change{{take(1, -8)}}},
		"given back by two":       {divisionOf(80, 2, 2, 2), map[int]int64{0: 4, 1: 9}, -10, -1, [][]change{{take(1, -9), take(0, -1)}}},
		"given back by either":    {divisionOf(80, 2, 3, 3), map[int]int64{0: 9, 1: 9, 2: -5}, -8, -1, [][]change{{take(0, -8)}, {take(1, -8)}}},
		"more than is known":      {divisionOf(80, 2, 2, 2), map[int]int64{0: 4}, -8, -1, nil},
	} {
		seen := map[string]bool{}
		for range 200 {
			h := &hit{division: *c.division, n: c.hits, last: c.last, window: windowOf(c.used, nil), budget: dynamo.MaxTransactActions}
			h.planFromCache(false)
			got := h.changes
			if !h.fits {
				got = nil
			}
			seen[fmt.Sprint(got)] = true
			if !slices.ContainsFunc(c.want, func(want []change) bool { return slices.Equal(got, want) }) && (got != nil || c.want != nil) {
				t.Fatalf("%s: %v, want one of %v", name, got, c.want)
			}
		}
		if len(seen) != max(1, len(c.want)) {
			t.Errorf("%s: plans %v, want all of %v", name, seen, c.want)
		}
	}
}

// newTestCall returns a call of one hit on a division, with these results of calls.
func newTestCall(t *testing.T, client *libtest.Scripted, d *division, used map[int]int64, changes ...change) (*call, *libtest.Listener) {
	t.Helper()
	w := &libtest.Listener{}
	c, err := New(client, "t", libtest.EmptyMap(), Options{Observer: w}).newCall(t.Context(), []Hits{{d.Limit, 1}}, windowStart)
	if err != nil {
		t.Fatal(err)
	}
	h := c.hits[0]
	h.division, h.window, h.changes = *d, windowOf(used, nil), changes
	return c, w
}

// TestWritesOfChanges checks that only several changes are a transfer, which is no evidence: more write shards would cause
// more of them.
func TestWritesOfChanges(t *testing.T) {
	d := divisionOf(100, 1, 4, 4)
	both, _ := newTestCall(t, &libtest.Scripted{}, d, nil, change{0, 5, 0}, change{3, -4, 1})
	one, _ := newTestCall(t, &libtest.Scripted{}, d, nil, change{0, 1, 1})
	if w := both.writes(); len(w) != 2 || !w[0].Transfer || !w[1].Transfer || w[0].Attempt.Shard != 0 || w[1].Attempt.Shard != 3 {
		t.Errorf("a transfer: %+v", w)
	}
	if w := one.writes(); len(w) != 1 || w[0].Transfer || !reflect.DeepEqual(w[0].Probe, dynamo.Key("R#k#7200#1800000000#0", "~probe")) {
		t.Errorf("a hit: %+v", w)
	}
}

// damaged is an item whose use is no number.
var damaged = dynamo.Item{"used": dynamo.String("x")}

func item(used, hits int64) dynamo.Item {
	return dynamo.Item{"used": dynamo.Number(used), "hits": dynamo.Number(hits)}
}

// canceled returns the error of a transaction of two actions in which conditions failed on these items. An action without an
// item did not fail.
func canceled(items ...dynamo.Item) error {
	codes := []string{"None", "None"}
	for i, it := range items {
		if it != nil {
			codes[i] = "ConditionalCheckFailed"
		}
	}
	err := libtest.CanceledFor(codes...).(*types.TransactionCanceledException)
	for i, it := range items {
		err.CancellationReasons[i].Item = it
	}
	return err
}

// TestCacheAfterTransfer checks what is cached after a transfer from write shard 0, the only one with a share, to write
// shard 3. If its outcome is unknown, the use of write shard 3 is forgotten. Its writes are inconclusive attempts.
func TestCacheAfterTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		took  bool
		fails bool
		want  map[int]use
	}{
		"made":             {nil, true, false, map[int]use{0: {15, 10}, 3: {-6, 1}}},
		"no quota":         {canceled(item(99, 12), nil), false, false, map[int]use{0: {99, 12}, 3: {-2, 0}}},
		"both have failed": {canceled(item(99, 12), item(-7, 1)), false, false, map[int]use{0: {99, 12}, 3: {-7, 1}}},
		"absent":           {canceled(nil, dynamo.Item{}), false, false, map[int]use{0: {10, 10}, 3: {}}},
		"damaged":          {canceled(damaged, nil), false, true, map[int]use{0: {10, 10}, 3: {-2, 0}}},
		"throttled":        {libtest.CanceledFor("ThrottlingError", "None"), false, true, map[int]use{0: {10, 10}}},
		"unknown":          {libtest.LostAnswer{}, false, true, map[int]use{0: {10, 10}}},
	} {
		call, w := newTestCall(t, &libtest.Scripted{Transactions: []error{c.err}}, divisionOf(100, 1, 4, 4), map[int]int64{0: 10, 3: -2}, change{0, 5, 0}, change{3, -4, 1})
		took, err := call.apply(t.Context())
		if cached := call.hits[0].window.used; took != c.took || (err != nil) != c.fails || !maps.Equal(cached, c.want) || w.All != 2 || len(w.Attempts) > 0 {
			t.Errorf("%s: %t, %v; cached %v, %d attempts observed, conclusive %v; want %+v", name, took, err, cached, w.All, w.Attempts, c)
		}
	}
}

// TestHitOnAWriteShard checks what is cached after a hit on write shard 0 with a cached use of 2, and that it is observed.
func TestHitOnAWriteShard(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		took   bool
		fails  bool
		cached use
		want   []shard.Outcome
	}{
		"counted":   {nil, true, false, use{3, 3}, []shard.Outcome{shard.Accepted}},
		"no quota":  {&types.ConditionalCheckFailedException{Item: item(5, 4)}, false, false, use{5, 4}, []shard.Outcome{shard.Accepted}},
		"damaged":   {&types.ConditionalCheckFailedException{Item: damaged}, false, true, use{2, 2}, []shard.Outcome{shard.Accepted}},
		"throttled": {libtest.Hot(libtest.TableHot), false, true, use{2, 2}, []shard.Outcome{shard.Throttled}},
		"unknown":   {libtest.LostAnswer{}, false, true, use{2, 2}, nil},
	} {
		client := &libtest.Scripted{Updates: []error{c.err}, Stored: item(3, 3)}
		call, w := newTestCall(t, client, divisionOf(100, 1, 4, 4), map[int]int64{0: 2}, change{0, 1, 1})
		took, err := call.apply(t.Context())
		if cached := call.hits[0].window.used[0]; took != c.took || (err != nil) != c.fails || cached != c.cached || !slices.Equal(w.Outcomes("R#k"), c.want) || w.All != 1 {
			t.Errorf("%s: %t, %v; cached %v, observed %v; want %+v", name, took, err, cached, w.Attempts, c)
		}
		if in := client.Updated[0]; in.ReturnValues != types.ReturnValueUpdatedNew {
			t.Errorf("%s: the update returns %v", name, in.ReturnValues)
		}
	}
}

// TestReadsOfUse checks what is cached after a read of four write shards, of which one has a share. A write shard is spent if
// the read is strongly consistent, the share was used up before, and it has no quota.
func TestReadsOfUse(t *testing.T) {
	for name, c := range map[string]struct {
		first      dynamo.Item
		consistent bool
		last       dynamo.Item // of write shard 3, whose quota is 4 at first
		spent      map[int]int64
		total      int64
		fails      bool
	}{
		"quota is left":         {item(99, 95), true, item(-4, 0), map[int]int64{}, 95, false},
		"full":                  {item(100, 90), true, item(-4, 6), map[int]int64{1: 100, 2: 100}, 96, false},
		"all full":              {item(100, 90), true, item(0, 10), map[int]int64{1: 100, 2: 100, 3: 100}, 100, false},
		"eventually consistent": {item(100, 90), false, item(0, 10), map[int]int64{2: 50}, 100, false},
		"damaged":               {item(100, 90), true, damaged, map[int]int64{1: 100, 2: 100}, 0, true},
		"the first is damaged":  {damaged, true, item(0, 10), map[int]int64{}, 0, true},
	} {
		client := &libtest.Scripted{}
		call, _ := newTestCall(t, client, divisionOf(100, 1, 4, 4), map[int]int64{3: -4})
		h := call.hits[0]
		for n, it := range map[int]dynamo.Item{0: c.first, 3: c.last} {
			it = maps.Clone(it)
			maps.Copy(it, h.itemKey(n))
			client.Items = append(client.Items, it)
		}
		h.window.own, h.window.spent = 3, map[int]int64{2: 50} // hits may have been given back since
		err := h.readAll(t.Context(), c.consistent)
		h.window.own = 5
		if got := h.window.totalUsed(1000); (err != nil) != c.fails || !maps.Equal(h.window.spent, c.spent) || !c.fails && got != c.total+2 {
			t.Errorf("%s: %v, spent %v, total %d after two more hits; want %+v", name, err, h.window.spent, got, c)
		}
	}
}

// TestSlidingWeight checks how much of the previous window's use counts, rounded up, and when rejected hits are tried again.
func TestSlidingWeight(t *testing.T) {
	const hour = time.Hour
	if settleTime < 5*shardmap.Clocks {
		t.Errorf("the previous window settles within %v", settleTime)
	}
	for _, c := range []struct {
		before, used, n int64
		at              time.Duration // of two hours
		weight          int64
		retry           time.Duration // after the window's start
	}{
		{0, 100, 1, hour, 0, 2*hour + 72*time.Second}, {100, 0, 1, 0, 100, 72 * time.Second}, {100, 50, 1, hour, 50, hour + 72*time.Second},
		{100, 25, 1, hour / 2, 75, hour/2 + 72*time.Second}, {100, 0, 50, 0, 100, hour}, {1, 100, 1, 2*hour - 1, 1, 2*hour + 72*time.Second},
		{1_000_000, 0, 1, hour, 100, 2*hour - 712800*time.Microsecond}, {100, 100, 100, 0, 100, 4 * hour}, {0, 0, 101, 0, 0, 2 * hour},
	} {
		h := &hit{division: *divisionOf(100, 1, 1, 1), fullMax: 100, n: c.n, now: windowStart.Add(c.at), window: newLimitWindow()}
		h.Sliding = true
		h.window.setPrevious(previous{c.before, h.now, true})
		err := h.lowerMax(t.Context())
		if retry := h.retryTime(c.used).Sub(windowStart); err != nil || h.weight != c.weight || h.Max != 100-c.weight || retry != c.retry {
			t.Errorf("%+v: weight %d, Max %d, retry after %v, %v", c, h.weight, h.Max, retry, err)
		}
	}
}

// TestPreviousUse checks how long the previous window's use is cached: a second until it is final.
func TestPreviousUse(t *testing.T) {
	w := newLimitWindow()
	for i, c := range []struct {
		at    time.Duration
		set   previous
		known bool
		hits  int64
	}{
		{0, previous{5, windowStart, false}, false, 0}, {999 * time.Millisecond, previous{}, true, 5}, {time.Second, previous{7, windowStart.Add(time.Second), true}, false, 5},
		{time.Hour, previous{9, windowStart, true}, true, 7}, {time.Hour, previous{}, true, 7},
	} {
		hits, known := w.previousHits(windowStart.Add(c.at))
		if known != c.known || hits != c.hits {
			t.Errorf("step %d: %d, %t; want %+v", i, hits, known, c)
		}
		if c.set != (previous{}) {
			w.setPrevious(c.set)
		}
	}
}
