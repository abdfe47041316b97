package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Bucket is the width of the time buckets of a time series. Each bucket has one partition key,
// or N write shards. Buckets are in UTC.
type Bucket string

// Widths.
const (
	Minute Bucket = "minute" // 2026-01-05T13:04
	Hour   Bucket = "hour"   // 2026-01-05T13
	Day    Bucket = "day"    // 2026-01-05
)

// Width returns the bucket's length. It panics for a bucket that is not [Bucket.Valid].
func (b Bucket) Width() time.Duration {
	switch b {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return 24 * time.Hour
	}
	panic(fmt.Sprintf("shard: no bucket %q", string(b)))
}

func (b Bucket) layout() string {
	switch b {
	case Minute:
		return "2006-01-02T15:04"
	case Hour:
		return "2006-01-02T15"
	}
	return "2006-01-02"
}

// Label returns the label of the bucket that contains t, such as 2026-01-05T13. With an offset,
// each bucket begins that much later: see [Bucket.Offset].
func (b Bucket) Label(t time.Time, offset time.Duration) string {
	return t.Add(-offset).UTC().Truncate(b.Width()).Format(b.layout())
}

// Start returns the first instant of the bucket with this label and offset.
func (b Bucket) Start(label string, offset time.Duration) (time.Time, error) {
	start, err := time.ParseInLocation(b.layout(), label, time.UTC)
	if err != nil {
		return time.Time{}, fmt.Errorf("shard: %s bucket %q: want the form %s", b, label, b.layout())
	}
	return start.Add(offset), nil
}

// Labels returns the labels of all buckets that overlap [from, to), in order, or nil if the range
// is empty.
func (b Bucket) Labels(from, to time.Time, offset time.Duration) []string {
	if !from.Before(to) {
		return nil
	}
	var labels []string
	at := from.Add(-offset).UTC().Truncate(b.Width())
	for end := to.Add(-offset); at.Before(end); at = at.Add(b.Width()) {
		labels = append(labels, at.Format(b.layout()))
	}
	return labels
}

// Offset returns a delay of whole milliseconds in [0, width) that depends only on name. With it
// as Label's offset, keys begin their buckets at different moments. Otherwise all keys would
// start a new partition key at once.
func (b Bucket) Offset(name string) time.Duration {
	digest := sha256.Sum256([]byte(name))
	steps := uint64(b.Width() / time.Millisecond)
	return time.Duration(binary.BigEndian.Uint64(digest[:8])%steps) * time.Millisecond
}

// Valid returns an error if the bucket is not Minute, Hour or Day.
func (b Bucket) Valid() error {
	switch b {
	case Minute, Hour, Day:
		return nil
	}
	return fmt.Errorf("shard: no bucket %q: want %s, %s or %s", string(b), Minute, Hour, Day)
}
