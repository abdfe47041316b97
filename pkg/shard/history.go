package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Change is a change of a key's shard count: from At on, the count is Count.
type Change struct {
	At    time.Time // whole milliseconds
	Count int       // 1 or more
}

// History is a key's shard count as a step function of time, in ascending order of time. Before
// the first change the count is 1.
type History []Change

// At returns the shard count in effect at t.
func (h History) At(t time.Time) int {
	count := 1
	for _, change := range h {
		if change.At.After(t) {
			break
		}
		count = change.Count
	}
	return count
}

// Max returns the largest shard count in effect between from and to, both included.
func (h History) Max(from, to time.Time) int {
	return slices.Max(h.Counts(from, to))
}

// Counts returns the distinct shard counts in effect between from and to, both included, in the
// order in which they take effect.
func (h History) Counts(from, to time.Time) []int {
	counts := []int{h.At(from)}
	for _, change := range h {
		isInRange := change.At.After(from) && !change.At.After(to)
		if isInRange && !slices.Contains(counts, change.Count) {
			counts = append(counts, change.Count)
		}
	}
	return counts
}

// Newest returns the last change's count, even before it takes effect; 1 without a change.
func (h History) Newest() int {
	if len(h) == 0 {
		return 1
	}
	return h[len(h)-1].Count
}

// Strings returns the stored form, "epoch:count" for each change. The epoch is in the form of [FormatEpoch].
func (h History) Strings() []string {
	list := make([]string, len(h))
	for i, c := range h {
		list[i] = FormatEpoch(c.At) + ":" + strconv.Itoa(c.Count)
	}
	return list
}

// ParseHistory parses the form that Strings returns, in any order. It returns an error for two changes at one time, or
// a count below 1.
func ParseHistory(list []string) (History, error) {
	h := make(History, 0, len(list))
	for _, s := range list {
		epoch, count, ok := strings.Cut(s, ":")
		at, err1 := ParseEpoch(epoch)
		n, err2 := strconv.Atoi(count)
		if !ok || err1 != nil || err2 != nil || n < 1 {
			return nil, fmt.Errorf("shard: history entry %q: want a time and a count of 1 or more, such as 1763808123.25:4 (Unix seconds)", s)
		}
		h = append(h, Change{At: at, Count: n})
	}
	slices.SortFunc(h, func(a, b Change) int { return a.At.Compare(b.At) })
	for i := 1; i < len(h); i++ {
		if h[i].At.Equal(h[i-1].At) {
			return nil, fmt.Errorf("shard: the history has two changes at %s: remove one", FormatEpoch(h[i].At))
		}
	}
	return h, nil
}

// FormatEpoch returns a time in Unix seconds, with milliseconds if it has a fraction: 1763808123 or 1763808123.250.
func FormatEpoch(t time.Time) string {
	seconds, millis := t.Unix(), t.Nanosecond()/int(time.Millisecond)
	if millis == 0 {
		return strconv.FormatInt(seconds, 10)
	}
	return fmt.Sprintf("%d.%03d", seconds, millis)
}

// ParseEpoch parses the form that FormatEpoch returns. A fraction may have one to three digits,
// because DynamoDB removes trailing zeros from numbers.
func ParseEpoch(s string) (time.Time, error) {
	whole, fraction, hasFraction := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	millis := uint64(0)
	if err == nil && hasFraction {
		millis, err = strconv.ParseUint((fraction + "000")[:3], 10, 64)
	}
	if err != nil || len(fraction) > 3 || hasFraction && fraction == "" {
		return time.Time{}, fmt.Errorf("shard: %q is not a time in Unix seconds, such as 1763808123.25", s)
	}
	return time.Unix(seconds, int64(millis)*int64(time.Millisecond)).UTC(), nil
}
