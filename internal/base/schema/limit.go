package schema

import (
	"strconv"
	"time"
)

// The use of a limit in one window is spread over write shards:
//
//	pk         S  R#<key>#<window's length in seconds, 0 for a month>#<its start, Unix seconds>#<shard>
//	sk         S  -
//	hits       N  hits, 0 or more
//	used       N  hits, plus quota transferred to other write shards, minus quota received from them
//	expires_at N  Unix seconds, LimitLifetime after the window's end, or after the next one's if the limit slides
const (
	LimitHits = "hits"
	LimitUsed = "used"
)

// LimitLifetime is how long the use of a limit is kept after its window, for processes whose clocks are behind.
const LimitLifetime = time.Hour

// LimitBucket returns the label of a limit's window that begins at start, a whole second. A window of less than a second
// stands for a calendar month.
func LimitBucket(start time.Time, window time.Duration) string {
	return strconv.FormatInt(int64(window/time.Second), 10) + "#" + strconv.FormatInt(start.Unix(), 10)
}

// cutLimitBucket splits a window's label, as LimitBucket returns it, from the end of a name.
func cutLimitBucket(name string) (key, bucket string, ok bool) {
	rest, start, _ := cutLast(name, isWhole)
	key, window, ok := cutLast(rest, isWhole) // rest is "" if there is no start
	return key, window + "#" + start, ok
}

// isWhole reports whether a text is a whole number in LimitBucket's form.
func isWhole(digits string) bool {
	n, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits
}
