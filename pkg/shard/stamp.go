package shard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Stamp is the form of a time at the beginning of a sort key, so that keys sort by time. A text stamp may be followed
// by a separator and an id: 2026-01-05T12:00:00.125Z#order-1234. The zero value is [Millis].
//
// Text stamps are layouts of package time with a fixed width, for UTC times of the years 0 to 9999. Only this package's
// stamps are valid. Use the one of the table's existing items: [Stamp.Parse] rejects keys of another precision.
//
// Don't store a time.Time field as the sort key: encoders omit trailing zeros, so 45.49Z would sort after 45.491Z.
// Set the sort key with Format or Key.
type Stamp string

// Stamps. UnixSeconds and UnixMillis are for sort keys of type number.
const (
	Millis      Stamp = "2006-01-02T15:04:05.000Z"
	Seconds     Stamp = "2006-01-02T15:04:05Z"
	Micros      Stamp = "2006-01-02T15:04:05.000000Z"
	Nanos       Stamp = "2006-01-02T15:04:05.000000000Z"
	UnixSeconds Stamp = "unix"
	UnixMillis  Stamp = "unixms"
)

// Number reports whether the stamp is a number, not text.
func (s Stamp) Number() bool { return s == UnixSeconds || s == UnixMillis }

// Unit returns the shortest time between two stamps.
func (s Stamp) Unit() time.Duration {
	switch s {
	case Nanos:
		return time.Nanosecond
	case Micros:
		return time.Microsecond
	case Seconds, UnixSeconds:
		return time.Second
	}
	return time.Millisecond
}

// Valid returns an error if the stamp is not one of this package's.
func (s Stamp) Valid() error {
	switch s {
	case "", Millis, Seconds, Micros, Nanos, UnixSeconds, UnixMillis:
		return nil
	}
	return fmt.Errorf("shard: no stamp %q: use one of this package, such as %q", string(s), string(Millis))
}

// layout returns the layout of a text stamp.
func (s Stamp) layout() string {
	if s == "" {
		return string(Millis)
	}
	return string(s)
}

// Format returns t, truncated to the stamp's unit, as text. For a number these are its digits.
func (s Stamp) Format(t time.Time) string {
	switch s {
	case UnixSeconds:
		return strconv.FormatInt(t.Unix(), 10)
	case UnixMillis:
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.UTC().Format(s.layout())
}

// Parse returns the time at the beginning of key, and the rest of key: "", or a separator and an id. For a key that
// does not begin with the stamp it returns a [*KeyError].
func (s Stamp) Parse(key string) (t time.Time, rest string, err error) {
	if s.Number() {
		t, err = s.parseNumber(key)
		return t, "", err
	}
	layout := s.layout()
	if len(key) < len(layout) {
		return time.Time{}, "", s.stampError(key)
	}
	t, err = time.Parse(layout, key[:len(layout)])
	if err != nil || s.Format(t) != key[:len(layout)] {
		return time.Time{}, "", s.stampError(key)
	}
	return t, key[len(layout):], nil
}

// stampError returns the error for a text key that does not begin with the stamp. The error names another stamp with
// which the key begins, and recommends Stamp.Format if the key looks like an encoded time.Time.
func (s Stamp) stampError(key string) error {
	reason := "it does not begin with a time like " + s.layout()
	for _, other := range []Stamp{Seconds, Millis, Micros, Nanos} {
		if other == s || len(key) < len(other) {
			continue
		}
		if _, err := time.Parse(string(other), key[:len(other)]); err == nil {
			reason += ", but with a time like " + string(other)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, key); err == nil {
		reason += ": write it with Stamp.Format, since encoders of a time.Time omit trailing zeros, and then keys do not sort by time"
	}
	return &KeyError{Key: key, Reason: reason}
}

// parseNumber returns the time of a sort key of type number.
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

// Key returns a text sort key: the stamp of t, sep and id, or only the stamp if id is "".
func (s Stamp) Key(t time.Time, sep, id string) string {
	if id == "" {
		return s.Format(t)
	}
	return s.Format(t) + sep + id
}

// Bounds returns the bounds for DynamoDB's BETWEEN that select the sort keys of all times t, from <= t < to. It rounds
// both times up to the stamp's unit. ok is false if the range is empty.
//
// Text bounds have no Z, so that 12:00:07 and 12:00:07.543 sort correctly among stamps of any precision. A range also
// selects items with another stamp if from and to are whole units of both stamps. Otherwise the range may miss, or
// include, such items within a unit of a bound.
func (s Stamp) Bounds(from, to time.Time) (low, high string, ok bool) {
	begin, end := roundUp(from, s.Unit()), roundUp(to, s.Unit())
	if !begin.Before(end) {
		return "", "", false
	}
	if s.Number() {
		return s.Format(begin), s.Format(end.Add(-s.Unit())), true
	}
	if end.UTC().Year() > 9999 {
		return s.textBound(begin), s.Format(end.Add(-s.Unit())) + afterAll, true
	}
	return s.textBound(begin), s.textBound(end), true
}

// textBound returns a text that sorts before the stamps of t, and after the stamps of earlier times, of any precision.
func (s Stamp) textBound(t time.Time) string {
	return strings.TrimSuffix(s.Format(t), "Z")
}

// afterAll sorts after every separator that follows a stamp.
const afterAll = "\U0010ffff"

// wholeSeconds is the common beginning of all text stamps.
const wholeSeconds = "2006-01-02T15:04:05"

// ParseBound returns the time of a bound that Bounds returned, or of a sort key with a stamp of any precision.
// excluded is true for a text bound, which no sort key equals: a range up to that bound ends before its time.
func (s Stamp) ParseBound(bound string) (t time.Time, excluded bool, err error) {
	if s.Number() {
		t, err = s.parseNumber(bound)
		return t, false, err
	}
	end := min(len(wholeSeconds), len(bound))
	if end < len(bound) && bound[end] == '.' {
		end++
		for end < len(bound) && bound[end] >= '0' && bound[end] <= '9' {
			end++
		}
	}
	if t, err = time.Parse(wholeSeconds, bound[:end]); err != nil { // time.Parse accepts any fraction
		return time.Time{}, false, s.stampError(bound)
	}
	return t, end == len(bound), nil
}

// roundUp returns t rounded up to whole units.
func roundUp(t time.Time, unit time.Duration) time.Time {
	if down := t.Truncate(unit); down.Before(t) {
		return down.Add(unit)
	}
	return t
}

// Compose joins the parts of a composite key: Compose("#", "user", "42") is user#42. It returns an error if [Decompose]
// would not return the same parts, for example because the first part contains the separator.
func Compose(sep string, parts ...string) (string, error) {
	key := strings.Join(parts, sep)
	parsed, err := Decompose(sep, key, len(parts))
	if err != nil {
		return "", fmt.Errorf("composing %q: %w", parts, err)
	}
	for i, part := range parts {
		if parsed[i] != part {
			return "", &KeyError{Key: key, Reason: fmt.Sprintf("part %q would be read as %q with the separator %q", part, parsed[i], sep)}
		}
	}
	return key, nil
}

// Decompose returns the n parts of a composite key; the last may contain the separator. It returns a [*KeyError] for a
// key with fewer parts, and another error if sep is "" or n below 1.
func Decompose(sep, key string, n int) ([]string, error) {
	if sep == "" || n < 1 {
		return nil, fmt.Errorf("shard: composite key %q: want a separator, not %q, and at least 1 part, not %d", key, sep, n)
	}
	parts := strings.SplitN(key, sep, n)
	if len(parts) != n {
		return nil, &KeyError{Key: key, Reason: fmt.Sprintf("it has %d parts, want %d", len(parts), n)}
	}
	return parts, nil
}

// Expiry returns the value of a TTL attribute: t plus keep in Unix seconds, rounded up so that no
// item is deleted early. DynamoDB deletes items hours after that time, so readers must skip expired items.
func Expiry(t time.Time, keep time.Duration) int64 {
	return roundUp(t.Add(keep), time.Second).Unix()
}
