package schema

import (
	"strconv"
	"strings"
	"time"
)

// What was used of a limit in one window is spread over write shards:
//
//	pk         S  R#<key>#<window's length in seconds>#<its start, Unix seconds>#<shard>
//	sk         S  -
//	used       N  hits; below 0 where a write shard took over room of another's
//	expires_at N  Unix seconds, LimitLifetime after the window's end
const LimitUsed = "used"

// LimitLifetime is how long what was used is kept after its window: for clocks
// that are behind.
const LimitLifetime = time.Hour

// LimitBucket labels the window of a limit that begins at start, a whole second.
func LimitBucket(start time.Time, window time.Duration) string {
	return strconv.FormatInt(int64(window/time.Second), 10) + "#" + strconv.FormatInt(start.Unix(), 10)
}

// LimitStart returns the begin of the window that a label of LimitBucket is of, the zero
// time for any other text.
func LimitStart(bucket string) time.Time {
	_, start, _ := strings.Cut(bucket, "#")
	seconds, err := strconv.ParseInt(start, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// cutLimitBucket takes the label of a window off a name that ends with one.
func cutLimitBucket(name string) (key, bucket string, ok bool) {
	at := strings.LastIndexByte(name, '#')
	if at < 0 || !isWhole(name[at+1:]) {
		return "", "", false
	}
	at2 := strings.LastIndexByte(name[:at], '#')
	if at2 < 0 || !isWhole(name[at2+1:at]) {
		return "", "", false
	}
	return name[:at2], name[at2+1:], true
}

// isWhole tells whether a text is a whole number as LimitBucket writes it.
func isWhole(digits string) bool {
	n, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits
}
