package schema

import (
	"hash/crc32"
	"strconv"
	"time"
)

// The shard map has these partition keys. Each base key has an item in one of MapBuckets buckets, by a
// hash; its sort key is the base key's text. Each of MapLogs logs has all changes. A bucket's snapshot has
// MapSlices items. All processes must agree on these numbers.
const (
	MapBuckets = 4
	MapLogs    = 4
	MapSlices  = 8
)

// MapLog returns the partition key of copy n of the log, 0 to MapLogs-1.
func MapLog(n int) string { return "log#" + strconv.Itoa(n) }

// MapBucket returns the partition key of one bucket of the keys, 0 to MapBuckets-1.
func MapBucket(n int) string { return "keys#" + strconv.Itoa(n) }

// MapKey returns the primary key of a base key's item in the shard map.
func MapKey(base string) (pk, sk string) {
	return MapBucket(int(crc32.ChecksumIEEE([]byte(base)) % MapBuckets)), base
}

// MapSnapshot returns the partition key of one bucket's snapshot. The prefix has the version of the form.
func MapSnapshot(n int) string { return "snapshot-1#" + strconv.Itoa(n) }

// MapSlice returns the number, 0 to MapSlices-1, of the snapshot item with a base key's entry.
func MapSlice(base string) int {
	return int(crc32.ChecksumIEEE([]byte(base)) / MapBuckets % MapSlices)
}

// MapLogSK returns the sort key of a log item: the time of a change, and a random text that
// distinguishes changes of the same millisecond.
func MapLogSK(t time.Time, random string) string { return EventSortKey(t, random) }

// ParseMapLogSK returns the time of a log item.
func ParseMapLogSK(sk string) (time.Time, error) {
	t, _, err := ParseEventSortKey(sk)
	return t, err
}
