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
// of the years 0 to 9999. Take the one that the items there have: a range finds items of
// another precision too, where its ends are whole units of both, but their keys are
// refused. A time.Time field of a struct is none: encoders write it as
// RFC 3339 without trailing zeros, and then 45.49Z sorts behind 45.491Z. Fill the sort
// key with Format or Key.
type Stamp string

// The stamps in use. UnixSeconds and UnixMillis are for sort keys of type number.
const (
	Millis      Stamp = "2006-01-02T15:04:05.000Z"
	Seconds     Stamp = "2006-01-02T15:04:05Z"
	Micros      Stamp = "2006-01-02T15:04:05.000000Z"
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
	case Micros:
		return time.Microsecond
	case Seconds, UnixSeconds:
		return time.Second
	}
	return time.Millisecond
}

// Valid reports a stamp that is none of this package's.
func (s Stamp) Valid() error {
	switch s {
	case "", Millis, Seconds, Micros, Nanos, UnixSeconds, UnixMillis:
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
	for _, other := range []Stamp{Seconds, Millis, Micros, Nanos} {
		if at := len(other); other != s && len(key) >= at && wellFormed(other, key[:at]) {
			reason += ", but with one like " + string(other)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, key); err == nil {
		reason += ": write it with Stamp.Format, since the text that encoders make of a time.Time is cut at trailing zeros, and does not sort by time"
	}
	return &KeyError{Key: key, Reason: reason}
}

func wellFormed(s Stamp, text string) bool {
	_, err := time.Parse(string(s), text)
	return err == nil
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

// Bounds returns ends for DynamoDB's BETWEEN that hold the sort keys of the times from
// from to before to, both rounded up to the stamp's unit. ok is false when there are none.
//
// Ends of text are cut at the zeros of their fraction, and before the Z: 12:00:07 and
// 12:00:07.543 sort right among stamps of any precision. So no item is lost that was
// written with another one than the range's, as long as from and to are whole units of
// both. Otherwise items may be there that lie up to a unit outside, or be missing that lie
// in a unit that an end cuts.
func (s Stamp) Bounds(from, to time.Time) (first, last string, ok bool) {
	low, end := ceil(from, s.Unit()), ceil(to, s.Unit())
	if !low.Before(end) {
		return "", "", false
	}
	if s.Number() {
		return s.Format(low), s.Format(end.Add(-s.Unit())), true
	}
	if end.UTC().Year() > 9999 {
		return s.cut(low), s.Format(end.Add(-s.Unit())) + afterAll, true
	}
	return s.cut(low), s.cut(end), true
}

// cut is a text stamp of t as it sorts before the stamps of t with any precision, and
// behind those of the times before.
func (s Stamp) cut(t time.Time) string {
	text := strings.TrimSuffix(s.Format(t), "Z")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// afterAll sorts behind every separator that follows a stamp.
const afterAll = "\U0010ffff"

// wholeSeconds is how all text stamps begin.
const wholeSeconds = "2006-01-02T15:04:05"

// ParseBound reads the time of a range's end: of one that Bounds made, or of a sort key
// with a stamp of any precision. open tells that it is the former, as text: no key has
// just that, so the range ends before the time.
func (s Stamp) ParseBound(bound string) (t time.Time, open bool, err error) {
	if s.Number() {
		t, err = s.parseNumber(bound)
		return t, false, err
	}
	end := min(len(wholeSeconds), len(bound))
	if end < len(bound) && bound[end] == '.' {
		for end++; end < len(bound) && bound[end] >= '0' && bound[end] <= '9'; end++ {
		}
	}
	if t, err = time.Parse(wholeSeconds, bound[:end]); err != nil { // it takes any fraction
		return time.Time{}, false, s.misfit(bound)
	}
	return t, end == len(bound), nil
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
