package shard

import (
	"fmt"
	"strings"
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

// Labeled returns the bucket with labels in a layout of package time, for tables that other programs wrote:
// Hour.Labeled("2006-01-02-15") has labels like 2026-01-05-13. The labels must have a fixed length, and differ for each
// bucket; [Bucket.Valid] checks this.
func (b Bucket) Labeled(layout string) Bucket { return b.width() + " " + Bucket(layout) }

// width returns the bucket without its layout.
func (b Bucket) width() Bucket {
	width, _, _ := strings.Cut(string(b), " ")
	return Bucket(width)
}

// Width returns the bucket's length. It panics if the bucket is neither a Minute, an Hour nor a Day.
func (b Bucket) Width() time.Duration {
	switch b.width() {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return 24 * time.Hour
	}
	panic(fmt.Sprintf("shard: no bucket %q: want %s, %s or %s", string(b), Minute, Hour, Day))
}

// layout returns the layout of the bucket's labels. A bucket that [Bucket.Labeled] returned holds its width, a space and
// its layout: "hour 2006-01-02-15".
func (b Bucket) layout() string {
	if _, layout, labeled := strings.Cut(string(b), " "); labeled {
		return layout
	}
	switch b {
	case Minute:
		return "2006-01-02T15:04"
	case Hour:
		return "2006-01-02T15"
	}
	return "2006-01-02"
}

// Label returns the label of the bucket that contains t, such as 2026-01-05T13. It panics if Width does.
func (b Bucket) Label(t time.Time) string {
	return t.UTC().Truncate(b.Width()).Format(b.layout())
}

// Start returns the first instant of the bucket with this label, or an error if the label has another form.
func (b Bucket) Start(label string) (time.Time, error) {
	start, err := time.ParseInLocation(b.layout(), label, time.UTC)
	if err != nil {
		return time.Time{}, fmt.Errorf("shard: %q is no label of a bucket: want the form %s", label, b.layout())
	}
	return start, nil
}

// Labels returns the labels of all buckets that overlap [from, to), in order, or nil if the range is empty.
func (b Bucket) Labels(from, to time.Time) []string {
	if !from.Before(to) {
		return nil
	}
	var labels []string
	for start := from.UTC().Truncate(b.Width()); start.Before(to); start = start.Add(b.Width()) {
		labels = append(labels, b.Label(start))
	}
	return labels
}

// Valid returns an error if the bucket's width is not Minute, Hour or Day, or if its layout may give two buckets the
// same label or labels of different lengths.
func (b Bucket) Valid() error {
	switch b.width() {
	case Minute, Hour, Day:
	default:
		return fmt.Errorf("shard: no bucket %q: want %s, %s or %s", string(b), Minute, Hour, Day)
	}
	// A layout with a 12-hour clock, or that lacks a field or leading zeros, fails with one of these times.
	for _, t := range []time.Time{time.Date(2026, 1, 5, 10, 4, 0, 0, time.UTC), time.Date(2026, 12, 22, 21, 59, 0, 0, time.UTC)} {
		label := b.Label(t)
		start, err := b.Start(label)
		parsesBack := err == nil && start.Equal(t.Truncate(b.Width()))
		hasFixedLength := len(label) == len(b.Label(time.Time{}))
		if !parsesBack || !hasFixedLength {
			return fmt.Errorf("shard: layout %q: labels such as %q must have one length, and differ for each %s", b.layout(), label, b.width())
		}
	}
	return nil
}
