package schema

import (
	"hash/crc32"
	"strconv"
	"time"
)

// Partition keys of the shard map. A base key's item is in one of MapParts partitions,
// by its name, under the sort key that is the base key's own text. What changes goes
// into the log, too, and the number of the items table's partitions is noted there.
const (
	MapParts = 4
	MapLog   = "log"
	MapNote  = "partitions" // the note's sort key, which is behind all times
)

// MapPart returns the partition key of one part of the keys, 0 to MapParts-1.
func MapPart(n int) string { return "keys#" + strconv.Itoa(n) }

// MapKey returns the key of a base key's item in the shard map.
func MapKey(base string) (pk, sk string) {
	return MapPart(int(crc32.ChecksumIEEE([]byte(base)) % MapParts)), base
}

// MapLogSK is the sort key of a log item: the time of a change, and something random
// that tells changes of one millisecond apart.
func MapLogSK(t time.Time, random string) string { return EventSortKey(t, random) }

// ParseMapLogSK returns the time of a log item.
func ParseMapLogSK(sk string) (time.Time, error) {
	t, _, err := ParseEventSortKey(sk)
	return t, err
}
