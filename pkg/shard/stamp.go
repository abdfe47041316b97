package shard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Stamp is how a sort key begins with a time, so that the order of the keys is
// that of their times. Text may go on with a separator and an id:
// 2026-01-05T12:00:00.125Z#order-1234. The zero value is [Millis].
//
// A text stamp is a layout of package time with a fixed width; the times are UTC,
// of the years 0 to 9999. A time.Time field of a struct is none: encoders write it as
// RFC 3339 without trailing zeros, and then 45.49Z sorts behind 45.491Z. Fill the sort
// key with Format or Key.
type Stamp string

// The stamps in use. UnixSeconds and UnixMillis are for sort keys of type number.
const (
	Millis      Stamp = "2006-01-02T15:04:05.000Z"
	Seconds     Stamp = "2006-01-02T15:04:05Z"
	Nanos       Stamp = "2006-01-02T15:04:05.000000000Z"
	UnixSeconds Stamp = "unix"
	UnixMillis  Stamp = "unixms"
)

// Number tells whether the stamp is a number and not text.
func (s Stamp) Number() bool { return s == UnixSeconds || s == UnixMillis }

// Unit is the shortest time between two stamps.
func (s Stamp) Unit() time.Duration {
	switch s {
	case Nanos:
		return time.Nanosecond
	case Seconds, UnixSeconds:
		return time.Second
	}
	return time.Millisecond
}

// Valid reports a stamp that is none of this package's.
func (s Stamp) Valid() error {
	switch s {
	case "", Millis, Seconds, Nanos, UnixSeconds, UnixMillis:
		return nil
	}
	return fmt.Errorf("shard: no stamp %q", string(s))
}

func (s Stamp) layout() string {
	if s == "" {
		return string(Millis)
	}
	return string(s)
}

// Format returns t, cut to the stamp's unit, as text: digits for a number.
func (s Stamp) Format(t time.Time) string {
	switch s {
	case UnixSeconds:
		return strconv.FormatInt(t.Unix(), 10)
	case UnixMillis:
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.UTC().Format(s.layout())
}

// Parse reads the time that key begins with, and what follows it: "" or a
// separator and an id.
func (s Stamp) Parse(key string) (t time.Time, rest string, err error) {
	if s.Number() {
		t, err = s.parseNumber(key)
		return t, "", err
	}
	layout := s.layout()
	if len(key) < len(layout) {
		return time.Time{}, "", s.misfit(key)
	}
	t, err = time.Parse(layout, key[:len(layout)])
	if err != nil || s.Format(t) != key[:len(layout)] {
		return time.Time{}, "", s.misfit(key)
	}
	return t, key[len(layout):], nil
}

// misfit says why a text key has no such stamp. What encoders make of a time.Time is
// named: it looks right, and has the right width nine times of ten.
func (s Stamp) misfit(key string) error {
	reason := "it does not begin with a time like " + s.layout()
	if _, err := time.Parse(time.RFC3339Nano, key); err == nil {
		reason += ": write it with Stamp.Format, since the text that encoders make of a time.Time is cut at trailing zeros, and does not sort by time"
	}
	return &KeyError{Key: key, Reason: reason}
}

func (s Stamp) parseNumber(key string) (time.Time, error) {
	n, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return time.Time{}, &KeyError{Key: key, Reason: "it is not a whole number of " + s.Unit().String()}
	}
	if s == UnixSeconds {
		return time.Unix(n, 0).UTC(), nil
	}
	return time.UnixMilli(n).UTC(), nil
}

// Key returns a text sort key: the stamp of t and an id, with sep between them,
// or the stamp alone without an id.
func (s Stamp) Key(t time.Time, sep, id string) string {
	if id == "" {
		return s.Format(t)
	}
	return s.Format(t) + sep + id
}

// afterAll sorts behind every separator that follows a stamp.
const afterAll = "\U0010ffff"

// Bounds returns the first and the last sort key, both included, of the times from
// from to before to: what DynamoDB's BETWEEN takes. ok is false when there are none.
func (s Stamp) Bounds(from, to time.Time) (first, last string, ok bool) {
	low, end := ceil(from, s.Unit()), ceil(to, s.Unit())
	if !low.Before(end) {
		return "", "", false
	}
	last = s.Format(end.Add(-s.Unit()))
	if !s.Number() {
		last += afterAll
	}
	return s.Format(low), last, true
}

// ceil rounds t up to whole units.
func ceil(t time.Time, unit time.Duration) time.Time {
	if down := t.Truncate(unit); down.Before(t) {
		return down.Add(unit)
	}
	return t
}

// Compose joins the parts of a composite key: Compose("#", "user", "42") is
// user#42. It refuses parts that [Decompose] would not give again: a part but the
// last that holds the separator, or ends in what looks like the begin of one.
func Compose(sep string, parts ...string) (string, error) {
	key := strings.Join(parts, sep)
	back, err := Decompose(sep, key, len(parts))
	if err != nil {
		return "", fmt.Errorf("composing %q: %w", parts, err)
	}
	for i, part := range parts {
		if back[i] != part {
			return "", &KeyError{Key: key, Reason: fmt.Sprintf("part %q would be read as %q with the separator %q", part, back[i], sep)}
		}
	}
	return key, nil
}

// Decompose cuts a composite key of n parts; the last may hold the separator.
func Decompose(sep, key string, n int) ([]string, error) {
	if sep == "" || n < 1 {
		return nil, fmt.Errorf("shard: composite key %q: %d parts with separator %q", key, n, sep)
	}
	parts := strings.SplitN(key, sep, n)
	if len(parts) != n {
		return nil, &KeyError{Key: key, Reason: fmt.Sprintf("it has %d parts, want %d", len(parts), n)}
	}
	return parts, nil
}

// Expiry returns the Unix second at which an item of time t that is kept for keep
// may go: what DynamoDB's TTL takes, as a number. It is rounded up, so that no item
// goes early. TTL removes items hours late, so readers must look at it, too.
func Expiry(t time.Time, keep time.Duration) int64 {
	return ceil(t.Add(keep), time.Second).Unix()
}
