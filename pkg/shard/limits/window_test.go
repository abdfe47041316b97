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
)

// windowStart is the start of the tests' windows.
var windowStart = time.Unix(1_800_000_000, 0)

// divisionOf returns the division of a Max over write shards of a window of two hours.
func divisionOf(limit int64, first, newest, all int) *division {
	return &division{
		Limit: Limit{Key: "k", Max: limit, Window: 2 * time.Hour},
		items: "t", bucket: "7200#1800000000", start: windowStart, first: first, newest: newest, all: all,
	}
}

// windowOf returns a window with the cached use of write shards, and those that are spent for a Max.
func windowOf(used, spent map[int]int64) *limitWindow {
	w := newLimitWindow()
	maps.Copy(w.used, used)
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

// TestExpiryCountsFromWindowsEnd checks that use is kept for an hour after its window, whatever its length.
func TestExpiryCountsFromWindowsEnd(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour, 2 * time.Hour, 720 * time.Hour} {
		d := divisionOf(10, 1, 1, 1)
		d.Window = window
		want := fmt.Sprint(windowStart.Add(window + time.Hour).Unix())
		for name, u := range map[string]*types.Update{"takeQuota": d.takeQuota(0, 1), "addUsed": d.addUsed(0, 1)} {
			if got := dynamo.Digits(u.ExpressionAttributeValues, ":expires"); got != want || !strings.Contains(*u.UpdateExpression, "expires_at = :expires") {
				t.Errorf("window %v: %s sets expires_at to %s, want %s", window, name, got, want)
			}
		}
	}
}

// TestTakeQuota checks the condition under which a write shard of shares 4, 3, 3 and 0 gives quota: it may be absent only if
// it has a share that large.
func TestTakeQuota(t *testing.T) {
	for _, c := range []struct {
		n           int
		quota, most int64
		absent      bool
	}{{0, 1, 3, true}, {1, 1, 2, true}, {0, 4, 0, true}, {0, 5, -1, false}, {1, 4, -1, false}, {3, 1, -1, false}, {3, 7, -7, false}} {
		condition := "#used <= :most"
		if c.absent {
			condition = "attribute_not_exists(#used) OR #used <= :most"
		}
		want := &types.Update{
			TableName: aws.String("t"), Key: dynamo.Key(fmt.Sprint("R#k#7200#1800000000#", c.n), "-"),
			UpdateExpression: aws.String("SET expires_at = :expires ADD #used :used"), ConditionExpression: &condition,
			ExpressionAttributeNames: map[string]string{"#used": "used"},
			ExpressionAttributeValues: dynamo.Item{
				":used": dynamo.Number(c.quota), ":most": dynamo.Number(c.most), ":expires": dynamo.Number(windowStart.Add(3 * time.Hour).Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
		if got := divisionOf(10, 3, 4, 4).takeQuota(c.n, c.quota); !reflect.DeepEqual(got, want) {
			t.Errorf("%d of write shard %d: %+v, want %+v", c.quota, c.n, got, want)
		}
	}
	if u := divisionOf(10, 3, 4, 4).addUsed(3, -5); u.ConditionExpression != nil || dynamo.Digits(u.ExpressionAttributeValues, ":used") != "-5" {
		t.Errorf("addUsed: %+v, want -5 without a condition", u)
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

// TestCachedUse checks that the use of a write shard with a share never falls in the cache, and that of another may.
func TestCachedUse(t *testing.T) {
	for _, c := range []struct {
		cached   map[int]int64
		used     int64
		hasShare bool
		want     int64
	}{
		{nil, -5, false, -5}, {nil, 2, true, 2}, {map[int]int64{1: 3}, 2, true, 3}, {map[int]int64{1: 3}, 4, true, 4},
		{map[int]int64{1: 3}, -2, false, -2}, {map[int]int64{1: -2}, 1, false, 1},
	} {
		w := windowOf(c.cached, nil)
		w.cacheUsed(1, c.used, c.hasShare)
		if got, ok := w.knownUse(1); got != c.want || !ok {
			t.Errorf("%+v: the cached use is %d, %t", c, got, ok)
		}
		if w.forget(1); len(w.used) > 0 {
			t.Errorf("%+v: forget leaves %v", c, w.used)
		}
		if got, ok := w.knownUse(1); ok {
			t.Errorf("%+v: the use is %d after forget, want none", c, got)
		}
	}
}

// TestTotalUse checks the total after a read of all write shards: it adds the process's hits since the read began, and is
// 0 to the highest Max of the process.
func TestTotalUse(t *testing.T) {
	w := windowOf(map[int]int64{0: 30, 1: 12, 2: -9, 3: 100}, nil)
	w.own.Store(4)
	w.setTotal(3, 4)
	for _, c := range []struct {
		own, limit, want int64
	}{{4, 100, 33}, {6, 100, 35}, {6, 30, 35}, {80, 100, 100}, {80, 101, 101}, {80, 10, 101}} {
		w.own.Store(c.own)
		if got := w.totalUsed(c.limit); got != c.want {
			t.Errorf("%+v: totalUsed = %d", c, got)
		}
	}
	empty := newLimitWindow()
	empty.setTotal(1, 3)
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

// TestDonor checks which write shards of a division give quota, and how much: a fraction of what is left.
func TestDonor(t *testing.T) {
	for name, c := range map[string]struct {
		division *division
		used     map[int]int64
		want     map[int]int64 // the quota given by each donor
	}{
		"one":              {divisionOf(100, 1, 4, 4), nil, map[int]int64{0: 25}},
		"one, partly used": {divisionOf(100, 1, 4, 4), map[int]int64{0: 40}, map[int]int64{0: 15}},
		"of two":           {divisionOf(100, 2, 5, 5), map[int]int64{0: 10}, map[int]int64{0: 8, 1: 10}},
		"one of two":       {divisionOf(100, 2, 5, 5), map[int]int64{0: 50}, map[int]int64{1: 10}},
		"too little":       {divisionOf(4, 1, 5, 5), nil, map[int]int64{0: 0}},
		"three":            {divisionOf(90, 3, 6, 6), map[int]int64{1: 30}, map[int]int64{0: 5, 2: 5}},
	} {
		w, got := windowOf(c.used, nil), map[int]int64{}
		for range 100 {
			n, share := w.donor(c.division)
			got[n] = share
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: donors %v, want %v", name, got, c.want)
		}
	}
}

// TestTakeTogether checks which changes take the quota for hits from write shards in order.
func TestTakeTogether(t *testing.T) {
	left := []int64{5, 3, 0, 2}
	for _, c := range []struct {
		shards []int
		hits   int64
		want   []change
	}{
		{[]int{0, 1, 3}, 5, []change{{0, 5}}}, {[]int{0, 1, 3}, 6, []change{{0, 5}, {1, 1}}},
		{[]int{0, 1, 3}, 10, []change{{0, 5}, {1, 3}, {3, 2}}}, {[]int{0, 1, 3}, 11, nil},
		{[]int{3, 0}, 3, []change{{3, 2}, {0, 1}}}, {[]int{0, 2, 3}, 6, nil}, {nil, 1, nil},
	} {
		if got := takeTogether(c.shards, left, c.hits); !slices.Equal(got, c.want) {
			t.Errorf("%d hits on %v of %v: %v, want %v", c.hits, c.shards, left, got, c.want)
		}
	}
}

// TestPlans checks the changes that count several hits by the cached use, each of those that a random write shard gives.
func TestPlans(t *testing.T) {
	hundred := divisionOf(150, 150, 150, 150)
	many := make([]change, 99)
	for i := range many {
		many[i] = change{i, 1}
	}
	for name, c := range map[string]struct {
		division *division
		used     map[int]int64
		hits     int64
		last     int
		want     [][]change // nil if the plan must be nil
	}{
		"one has them":              {divisionOf(10, 1, 1, 1), nil, 10, -1, [][]change{{{0, 10}}}},
		"none has them":             {divisionOf(10, 1, 1, 1), map[int]int64{0: 1}, 10, -1, nil},
		"any of two":                {divisionOf(20, 2, 2, 2), nil, 10, -1, [][]change{{{0, 10}}, {{1, 10}}}},
		"not the last":              {divisionOf(20, 2, 2, 2), nil, 10, 0, [][]change{{{1, 10}}}},
		"the most first":            {divisionOf(20, 2, 2, 2), map[int]int64{0: 8, 1: 3}, 8, -1, [][]change{{{1, 7}, {0, 1}}}},
		"a transfer":                {divisionOf(40, 1, 2, 2), nil, 3, -1, [][]change{{{0, 20}, {1, -17}}}},
		"a transfer, one more":      {divisionOf(8, 1, 2, 2), nil, 3, -1, [][]change{{{0, 4}, {1, -1}}}},
		"no transfer for as many":   {divisionOf(6, 1, 2, 2), nil, 3, -1, [][]change{{{0, 3}}}},
		"from the fullest quota":    {divisionOf(80, 2, 3, 3), map[int]int64{0: 4}, 2, -1, [][]change{{{1, 13}, {2, -11}}}},
		"new ones only":             {divisionOf(80, 2, 4, 4), map[int]int64{2: -9, 3: -5}, 5, -1, [][]change{{{2, 5}}, {{3, 5}}}},
		"another new one":           {divisionOf(80, 2, 4, 4), map[int]int64{2: -9, 3: -5}, 5, 3, [][]change{{{2, 5}}}},
		"new ones have more":        {divisionOf(80, 2, 3, 3), map[int]int64{0: 40, 1: 30, 2: -20}, 30, -1, [][]change{{{2, 20}, {1, 10}}}},
		"the transaction's maximum": {hundred, nil, 99, -1, [][]change{many}},
		"more than the maximum":     {hundred, nil, 100, -1, nil},
	} {
		seen := map[string]bool{}
		for range 200 {
			h := &hit{division: *c.division, hits: c.hits, last: c.last, window: windowOf(c.used, nil)}
			got := h.plan()
			seen[fmt.Sprint(got)] = true
			if !slices.ContainsFunc(c.want, func(want []change) bool { return slices.Equal(got, want) }) && (got != nil || c.want != nil) {
				t.Fatalf("%s: %v, want one of %v", name, got, c.want)
			}
			if h.last < 0 || h.last >= c.division.newest {
				t.Fatalf("%s: last = %d", name, h.last)
			}
		}
		if len(seen) != max(1, len(c.want)) {
			t.Errorf("%s: plans %v, want all of %v", name, seen, c.want)
		}
	}
}

// TestWritesOfChanges checks that a change that uses quota is conditional, and that only several changes are a transfer,
// which is no evidence: more write shards would cause more of them.
func TestWritesOfChanges(t *testing.T) {
	l := New(&libtest.Scripted{}, "t", libtest.EmptyMap(), Options{})
	h, err := l.newHit(t.Context(), Limit{Key: "k", Max: 100, Window: time.Minute}, 1, windowStart)
	if err != nil {
		t.Fatal(err)
	}
	both := h.writes(h.transferAndHit(3, 0, 5))
	hit := h.writes([]change{{0, 1}})[0]
	for i, c := range []struct {
		got         bool
		want        bool
		n, from     int
		used        string
		conditional bool
	}{
		{both[0].Transfer, true, both[0].Attempt.Shard, 0, "5", true}, {both[1].Transfer, true, both[1].Attempt.Shard, 3, "-4", false},
		{hit.Transfer, false, hit.Attempt.Shard, 0, "1", true},
	} {
		u := append(slices.Clone(both), hit)[i].Action.Update
		if c.got != c.want || c.n != c.from || dynamo.Digits(u.ExpressionAttributeValues, ":used") != c.used || (u.ConditionExpression != nil) != c.conditional {
			t.Errorf("write %d: Transfer %t on write shard %d: %+v; want %+v", i, c.got, c.n, u, c)
		}
	}
	if !reflect.DeepEqual(hit.Probe, dynamo.Key("R#k#60#1800000000#0", "~probe")) {
		t.Errorf("the probe is %v", hit.Probe)
	}
}

// newTestHit returns the state of a call of one hit on a division, with these results of calls.
func newTestHit(t *testing.T, client *libtest.Scripted, d *division, used map[int]int64) (*hit, *libtest.Listener) {
	t.Helper()
	w := &libtest.Listener{}
	h, err := New(client, "t", libtest.EmptyMap(), Options{Observer: w}).newHit(t.Context(), d.Limit, 1, windowStart)
	if err != nil {
		t.Fatal(err)
	}
	h.division, h.window = *d, windowOf(used, nil)
	return h, w
}

// damaged is an item whose use is no number.
var damaged = dynamo.Item{"used": dynamo.String("x")}

// canceled returns the error of a transaction in which the condition of one of two actions failed on an item.
func canceled(failed int, it dynamo.Item) error {
	codes := []string{"None", "None"}
	codes[failed] = "ConditionalCheckFailed"
	err := libtest.CanceledFor(codes...).(*types.TransactionCanceledException)
	err.CancellationReasons[failed].Item = it
	return err
}

// bothCanceled returns the error of a transaction in which both conditions failed, on items with this use.
func bothCanceled(first, second int64) error {
	err := canceled(0, dynamo.Item{"used": dynamo.Number(first)}).(*types.TransactionCanceledException)
	err.CancellationReasons[1] = canceled(1, dynamo.Item{"used": dynamo.Number(second)}).(*types.TransactionCanceledException).CancellationReasons[1]
	return err
}

// TestCacheAfterTransfer checks what is cached after a transfer from write shard 0, the only one with a share, to write
// shard 3. If its outcome is unknown, the use of write shard 3 is forgotten. Each transfer is one inconclusive attempt.
func TestCacheAfterTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		took  bool
		fails bool
		want  map[int]int64
	}{
		"made":                  {nil, true, false, map[int]int64{0: 15, 3: -6}},
		"no quota":              {canceled(0, dynamo.Item{"used": dynamo.Number(99)}), false, false, map[int]int64{0: 99, 3: -2}},
		"the other has changed": {canceled(1, dynamo.Item{"used": dynamo.Number(-7)}), false, false, map[int]int64{0: 10, 3: -7}},
		"absent":                {canceled(1, nil), false, false, map[int]int64{0: 10, 3: 0}},
		"both have changed":     {bothCanceled(99, -7), false, false, map[int]int64{0: 99, 3: -7}},
		"damaged":               {canceled(0, damaged), false, true, map[int]int64{0: 10, 3: -2}},
		"throttled":             {libtest.CanceledFor("ThrottlingError", "None"), false, true, map[int]int64{0: 10}},
		"unknown":               {libtest.LostAnswer{}, false, true, map[int]int64{0: 10}},
	} {
		h, w := newTestHit(t, &libtest.Scripted{Transactions: []error{c.err}}, divisionOf(100, 1, 4, 4), map[int]int64{0: 10, 3: -2})
		took, err := h.transact(t.Context(), h.transferAndHit(3, 0, 5))
		if took != c.took || (err != nil) != c.fails || !maps.Equal(h.window.used, c.want) || w.All != 1 || len(w.Attempts) > 0 {
			t.Errorf("%s: %t, %v; cached %v, %d attempts observed, conclusive %v; want %t, an error: %t, %v, one and none", name, took, err, h.window.used, w.All, w.Attempts, c.took, c.fails, c.want)
		}
	}
}

// TestHitOnAWriteShard checks what is cached after a hit on write shard 0 with a cached use of 2, and that it is observed.
func TestHitOnAWriteShard(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		took   bool
		fails  bool
		cached int64
		want   []shard.Outcome
	}{
		"counted":   {nil, true, false, 2, []shard.Outcome{shard.Accepted}}, // 1, by the script
		"no quota":  {&types.ConditionalCheckFailedException{Item: dynamo.Item{"used": dynamo.Number(5)}}, false, false, 5, []shard.Outcome{shard.Accepted}},
		"damaged":   {&types.ConditionalCheckFailedException{Item: damaged}, false, true, 2, []shard.Outcome{shard.Accepted}},
		"throttled": {libtest.Hot(libtest.TableHot), false, true, 2, []shard.Outcome{shard.Throttled}},
		"unknown":   {libtest.LostAnswer{}, false, true, 2, nil},
	} {
		client := &libtest.Scripted{Updates: []error{c.err}}
		h, w := newTestHit(t, client, divisionOf(100, 1, 4, 4), map[int]int64{0: 2})
		took, err := h.countOn(t.Context(), 0)
		if took != c.took || (err != nil) != c.fails || h.window.used[0] != c.cached || !slices.Equal(w.Outcomes("R#k"), c.want) || w.All != 1 {
			t.Errorf("%s: %t, %v; cached %v, observed %v; want %+v", name, took, err, h.window.used, w.Attempts, c)
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
		first      int64 // the use of write shard 0
		consistent bool
		last       types.AttributeValue // of write shard 3, whose quota is 4 at first
		used       map[int]int64
		spent      map[int]int64
		fails      bool
	}{
		"quota is left":         {99, true, dynamo.Number(-4), map[int]int64{0: 99, 1: 0, 2: 0, 3: -4}, map[int]int64{}, false},
		"full":                  {100, true, dynamo.Number(-4), map[int]int64{0: 100, 1: 0, 2: 0, 3: -4}, map[int]int64{1: 100, 2: 100}, false},
		"all full":              {100, true, dynamo.Number(0), map[int]int64{0: 100, 1: 0, 2: 0, 3: 0}, map[int]int64{1: 100, 2: 100, 3: 100}, false},
		"eventually consistent": {100, false, dynamo.Number(0), map[int]int64{0: 100, 1: 0, 2: 0, 3: 0}, map[int]int64{}, false},
		"damaged":               {100, true, dynamo.String("x"), map[int]int64{0: 100, 1: 0, 2: 0, 3: -4}, map[int]int64{1: 100, 2: 100}, true},
		"the first is damaged":  {-1, true, dynamo.Number(0), map[int]int64{3: -4}, map[int]int64{}, true},
	} {
		client := &libtest.Scripted{}
		h, _ := newTestHit(t, client, divisionOf(100, 1, 4, 4), map[int]int64{3: -4})
		first := types.AttributeValue(dynamo.Number(c.first))
		if c.first < 0 {
			first = dynamo.String("x")
		}
		for n, used := range map[int]types.AttributeValue{0: first, 3: c.last} {
			it := h.itemKey(n)
			it["used"] = used
			client.Items = append(client.Items, it)
		}
		h.window.own.Store(3)
		err := h.readAll(t.Context(), c.consistent)
		if (err != nil) != c.fails || !maps.Equal(h.window.used, c.used) || !maps.Equal(h.window.spent, c.spent) || len(client.Read) != 2 && c.first >= 0 {
			t.Errorf("%s: %v, cached %v, spent %v in %d reads; want %v, %v, an error: %t", name, err, h.window.used, h.window.spent, len(client.Read), c.used, c.spent, c.fails)
		}
		h.window.own.Store(5)
		want := c.first + 2
		for _, used := range c.used {
			want += min(0, used)
		}
		if got := h.window.totalUsed(1000); !c.fails && got != want {
			t.Errorf("%s: totalUsed = %d after two more hits, want %d", name, got, want)
		}
	}
}
