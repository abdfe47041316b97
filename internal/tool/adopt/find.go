package adopt

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// ownTime is a time that sampled items have in an attribute.
type ownTime struct {
	attr string
	place
	forms       []form
	first, last time.Time // of the sampled items
	days        bool      // all times are whole days
	distinct    int       // number of different values of the attribute
	without     []string  // values without a time, which table.Untimed reads
}

// place is where a time stands in a text: after the nth sep, after the last sep if nth is 0, or at the beginning if sep is
// "".
type place struct {
	sep string
	nth int
}

// form is a form of times with the name of its function.
type form struct {
	name   string
	parse  table.TimeForm
	unique bool // each item has another value
}

var forms = []form{
	{"ISO", table.ISO, false}, {"Unix", table.Unix, false},
	{"ULID", table.ULID, true}, {"KSUID", table.KSUID, true}, {"UUID", table.UUID, true},
}

// formAt returns the form of texts with a time of form f at the place.
func (p place) formAt(f table.TimeForm) table.TimeForm {
	if p.sep == "" {
		return f
	}
	return table.After(p.sep, p.nth, f)
}

// timeFunc returns a CalculatedSuffix.Time.
func (o *ownTime) timeFunc() func(table.Item) (time.Time, error) {
	var list []table.TimeForm
	for _, f := range o.forms {
		list = append(list, o.formAt(f.parse))
	}
	if len(o.without) > 0 {
		list = append(list, table.Untimed)
	}
	return table.AttributeTime(o.attr, list...)
}

// expression returns the CalculatedSuffix.Time in Go.
func (o *ownTime) expression() string {
	var list []string
	for _, f := range o.forms {
		text := "table." + f.name
		if o.sep != "" {
			text = fmt.Sprintf("table.After(%q, %d, %s)", o.sep, o.nth, text)
		}
		list = append(list, text)
	}
	if len(o.without) > 0 {
		list = append(list, "table.Untimed")
	}
	return fmt.Sprintf("table.AttributeTime(%q, %s)", o.attr, strings.Join(list, ", "))
}

// describe returns where the items' times are, in which form, from when to when, and what follows.
func (o *ownTime) describe(sortKey string) string {
	var names []string
	for _, f := range o.forms {
		names = append(names, f.name)
	}
	where := ""
	switch {
	case o.sep != "" && o.nth == 0:
		where = fmt.Sprintf(" after the last %q", o.sep)
	case o.sep != "":
		where = fmt.Sprintf(" after the %s %q", []string{"1st", "2nd", "3rd", fmt.Sprint(o.nth, "th")}[min(o.nth, 4)-1], o.sep)
	}
	text := fmt.Sprintf("%s has the item's time (%s%s), in the sampled items from %s to %s.",
		o.attr, strings.Join(names, " or "), where, o.first.Format(time.RFC3339), o.last.Format(time.RFC3339))
	if o.attr != sortKey {
		text += fmt.Sprintf(" Check that it never changes. Keys of Get, Update and Delete must have %s, too.", o.attr)
	}
	if o.days {
		text += " These are whole days, so a growth takes effect with the next day's items."
	}
	if len(o.without) > 0 {
		text += fmt.Sprintf(" Sort keys without a time, such as %.40q, stay under the plain name.", o.without[0])
	}
	return text
}

// allIDs reports whether all forms are those of ids.
func (o *ownTime) allIDs() bool {
	return !slices.ContainsFunc(o.forms, func(f form) bool { return !f.unique })
}

// timeSpan returns the earliest and the latest time of the items; zero times if no item has a time.
func (o *ownTime) timeSpan(items []item) (first, last time.Time) {
	read := o.timeFunc()
	for _, it := range items {
		at, err := read(it)
		if err != nil || !plausible(at) {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}

// attributeTexts returns an attribute's values as texts, of the items that have it.
func attributeTexts(items []item, attr string) (list []string) {
	read := table.AttributeTime(attr, func(text string) (time.Time, error) {
		list = append(list, text)
		return time.Time{}, nil
	})
	for _, it := range items {
		_, _ = read(it) // an item may be without it
	}
	return list
}

// findTime returns the time in an attribute of items. own is nil if the attribute has no time, or one that can't be used;
// then reason is why. Some values of the sort key may be without a time.
func findTime(items []item, attr string, sortKey bool, now time.Time) (own *ownTime, reason string) {
	list := attributeTexts(items, attr)
	places := placesIn(list)
	for _, p := range places {
		if o := matchTimes(list, attr, p); o != nil && (own == nil || o.isBetterThan(own, now)) {
			own = o
		}
	}
	switch {
	case own == nil:
		return nil, ""
	case len(list) < len(items):
		return nil, fmt.Sprintf("has a time, and is missing in %d of %d sampled items", len(items)-len(list), len(items))
	case len(own.without) > 0 && !sortKey:
		return nil, fmt.Sprintf("has no time in %d of %d sampled items, such as %.40q", len(own.without), len(items), own.without[0])
	}
	if text := own.valueWithTimeElsewhere(places); text != "" {
		return nil, fmt.Sprintf("has times at several places, such as in %.40q", text)
	}
	own.first, own.last = own.timeSpan(items)
	return own, ""
}

// valueWithTimeElsewhere returns a value that has a time at another of these places only, or "".
func (o *ownTime) valueWithTimeElsewhere(places []place) string {
	for _, text := range o.without {
		for _, p := range places {
			if f, _ := formOf(text, p); f != nil {
				return text
			}
		}
	}
	return ""
}

const (
	maxTimeText = 1024 // bytes of a text with a time; sort keys have no more
	maxPlaces   = 64
)

// placesIn returns places at which texts may have a time: the beginning, after each separator, and after letters at the
// beginning.
func placesIn(texts []string) []place {
	var list, ends []place
	add := func(to *[]place, p place) {
		if !slices.Contains(*to, p) && len(*to) < maxPlaces {
			*to = append(*to, p)
		}
	}
	add(&list, place{})
	for _, text := range texts {
		if len(text) > maxTimeText {
			continue
		}
		if n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); n > 0 {
			add(&list, place{text[:n], 1})
		}
		nth := map[string]int{}
		for _, r := range text {
			if sep := string(r); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				nth[sep]++
				add(&list, place{sep, nth[sep]})
				add(&ends, place{sep, 0})
			}
		}
	}
	return append(list, ends...)
}

// dynamoDBBegan is when DynamoDB began. If all Unix times are older, they are other numbers, such as ids of ten digits.
var dynamoDBBegan = time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)

// matchTimes returns the time that at least half of the texts have at a place, or nil. A number of ten digits may look like
// a Unix time, and a text of 27 characters like a KSUID. So all texts with the separator must have these two.
func matchTimes(list []string, attr string, where place) *ownTime {
	found := &ownTime{attr: attr, place: where, days: true}
	used, values, otherHasSeparator := map[string]bool{}, map[string]bool{}, false
	for _, text := range list {
		f, at := formOf(text, where)
		if f == nil {
			found.without = append(found.without, text)
			if 2*len(found.without) > len(list) {
				return nil
			}
			_, err := where.formAt(table.Untimed)(text)
			otherHasSeparator = otherHasSeparator || err == nil
			continue
		}
		used[f.name], values[text] = true, true
		found.days = found.days && f.name == "ISO" && at.Equal(at.Truncate(24*time.Hour))
		if at.After(found.last) {
			found.last = at
		}
	}
	for _, f := range forms {
		if used[f.name] {
			found.forms = append(found.forms, f)
		}
	}
	found.distinct = len(values)
	noUnixTime := used["Unix"] && (otherHasSeparator || found.last.Before(dynamoDBBegan))
	noKSUID := used["KSUID"] && (otherHasSeparator || len(values) < 2)
	if len(values) == 0 || noUnixTime || noKSUID {
		return nil
	}
	return found
}

// formOf returns the form and the time of a text at a place, or nil.
func formOf(text string, where place) (f *form, at time.Time) {
	for i := range forms {
		if at, err := where.formAt(forms[i].parse)(text); err == nil && plausible(at) {
			return &forms[i], at
		}
	}
	return nil, at
}

// isBetterThan reports whether a time is more probably the item's own than another time in the same attribute.
func (o *ownTime) isBetterThan(other *ownTime, now time.Time) bool {
	limit := now.Add(shardmap.MaxAhead)
	if len(o.without) != len(other.without) {
		return len(o.without) < len(other.without)
	}
	ahead, otherAhead := o.last.After(limit), other.last.After(limit)
	if ahead != otherAhead {
		return otherAhead
	}
	return !o.days && other.days
}
