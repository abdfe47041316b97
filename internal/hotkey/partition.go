package hotkey

import "strings"

// partition is a partition key of the table, or of one of its indexes. One text may
// be both, so the two are counted apart.
type partition struct{ index, key string }

func tablePartition(key string) partition { return partition{key: key} }

// appendPartition adds the form that an index's partition has in a sketch. Names of
// indexes have no control characters.
func appendPartition(to []byte, index string, key []byte) []byte {
	return append(append(append(to, index...), 0), key...)
}

// parsePartition is the inverse.
func parsePartition(text string) partition {
	index, key, _ := strings.Cut(text, "\x00")
	return partition{index, key}
}
