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

// ownTime is where the sampled items have a time: an attribute, a place in its text, and forms.
type ownTime struct {
	attr string
	place
	forms       []form
	first, last time.Time // of the sampled items
	days        bool      // whether all times are whole days
	distinct    int       // number of different values of the attribute
	without     []string  // values of the attribute without a time
}

// place is where in a text a time begins: after the nth sep, after the last sep if nth is 0, or at the start if sep is "".
type place struct {
	sep string
	nth int
}

// form is a form of times, which a function of package table parses.
type form struct {
	name  string // the function's
	parse table.TimeForm
	isID  bool // whether the time is part of an id, which is unique to an item
}

var forms = []form{
	{"ISO", table.ISO, false}, {"Unix", table.Unix, false},
	{"ULID", table.ULID, true}, {"KSUID", table.KSUID, true}, {"UUID", table.UUID, true},
}

// formAt returns the form of texts that have a time of form f at the place.
func (p place) formAt(f table.TimeForm) table.TimeForm {
	if p.sep == "" {
		return f
	}
	return table.After(p.sep, p.nth, f)
}

// timeFunc returns a function for CalculatedSuffix.Time that returns an item's own time.
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

// expression returns the Go expression of timeFunc.
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

// describe returns sentences on where the items' times are, in which forms, from when to when, and what to check.
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

// allIDs reports whether all times are parts of ids.
func (o *ownTime) allIDs() bool {
	return !slices.ContainsFunc(o.forms, func(f form) bool { return !f.isID })
}

// timeSpan returns the earliest and the latest time of the items; zero times if no item has a time.
func (o *ownTime) timeSpan(items []item) (first, last time.Time) {
	timeOf := o.timeFunc()
	for _, it := range items {
		at, err := timeOf(it)
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

// attributeTexts returns the texts of an attribute that table.AttributeTime parses, of the items that have the attribute.
func attributeTexts(items []item, attr string) (texts []string) {
	addText := table.AttributeTime(attr, func(text string) (time.Time, error) {
		texts = append(texts, text)
		return time.Time{}, nil
	})
	for _, it := range items {
		_, _ = addText(it) // an error means that the item lacks the attribute
	}
	return texts
}

// findTime returns the time in an attribute of items. own is nil if the attribute has no time that can be used; reason is why,
// or "" if the attribute has no time. Only some values of the sort key may be without a time.
func findTime(items []item, attr string, isSortKey bool, now time.Time) (own *ownTime, reason string) {
	texts := attributeTexts(items, attr)
	places := placesIn(texts)
	for _, p := range places {
		candidate := matchTimes(texts, attr, p)
		if candidate != nil && (own == nil || candidate.isBetterThan(own, now)) {
			own = candidate
		}
	}
	switch {
	case own == nil:
		return nil, ""
	case len(texts) < len(items):
		return nil, fmt.Sprintf("has a time, and is missing in %d of %d sampled items", len(items)-len(texts), len(items))
	case len(own.without) > 0 && !isSortKey:
		return nil, fmt.Sprintf("has no time in %d of %d sampled items, such as %.40q", len(own.without), len(items), own.without[0])
	}
	if text := own.valueWithTimeElsewhere(places); text != "" {
		return nil, fmt.Sprintf("has times at several places, such as in %.40q", text)
	}
	own.first, own.last = own.timeSpan(items)
	return own, ""
}

// valueWithTimeElsewhere returns a value without a time at o's place that has a time at another of these places, or "".
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

// Bounds of the search for places.
const (
	maxTimeText = 1024 // bytes of a text with a time; sort keys have no more
	maxPlaces   = 64   // counted from the start of a text, and as many from its end
)

// placesIn returns the places at which texts may have a time: the beginning, after leading letters, after each separator, and
// after the last of equal separators.
func placesIn(texts []string) []place {
	fromStart, fromEnd := []place{{}}, []place(nil)
	add := func(list []place, p place) []place {
		if slices.Contains(list, p) || len(list) >= maxPlaces {
			return list
		}
		return append(list, p)
	}
	for _, text := range texts {
		if len(text) > maxTimeText {
			continue
		}
		if letters := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); letters > 0 {
			fromStart = add(fromStart, place{text[:letters], 1})
		}
		nth := map[string]int{}
		for _, r := range text {
			if sep := string(r); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				nth[sep]++
				fromStart = add(fromStart, place{sep, nth[sep]})
				fromEnd = add(fromEnd, place{sep, 0})
			}
		}
	}
	return append(fromStart, fromEnd...)
}

// dynamoDBBegan is DynamoDB's release. Unix times that are all older are other numbers, such as ids of ten digits.
var dynamoDBBegan = time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)

// matchTimes returns the time that at least half of an attribute's texts have at a place, or nil. Ten digits may be no
// Unix time, and 27 characters no KSUID. So with either form it returns nil, too, if a text with the place has no time
// there, if all times are older than DynamoDB or snowflakes (Unix), or if the texts with times are all equal
// (KSUID).
func matchTimes(texts []string, attr string, where place) *ownTime {
	found := &ownTime{attr: attr, place: where, days: true}
	used, values, hasOtherText := map[string]bool{}, map[string]bool{}, false
	var times []time.Time
	for _, text := range texts {
		f, at := formOf(text, where)
		if f == nil {
			found.without = append(found.without, text)
			if 2*len(found.without) > len(texts) {
				return nil
			}
			_, err := where.formAt(table.Untimed)(text)
			hasPlace := err == nil
			hasOtherText = hasOtherText || hasPlace
			continue
		}
		used[f.name], values[text] = true, true
		times = append(times, at)
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
	noUnixTime := used["Unix"] && (hasOtherText || found.last.Before(dynamoDBBegan) || areSnowflakes(times))
	noKSUID := used["KSUID"] && (hasOtherText || len(values) < 2)
	if len(values) == 0 || noUnixTime || noKSUID {
		return nil
	}
	return found
}

// areSnowflakes reports whether nanoseconds are snowflakes, whose low 22 bits are a worker's number and a sequence number:
// one of the two has few values. Milliseconds are none.
func areSnowflakes(times []time.Time) bool {
	distinct, workers, sequences, isPrecise := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}, false
	for _, at := range times {
		n := at.UnixNano()
		distinct[n], workers[n>>12&0x3ff], sequences[n&0xfff] = true, true, true
		isPrecise = isPrecise || n%int64(time.Millisecond) != 0
	}
	return isPrecise && 2*min(len(workers), len(sequences)) <= len(distinct)
}

// formOf returns the form and the time that a text has at a place; nil if it has no plausible time there.
func formOf(text string, where place) (f *form, at time.Time) {
	for i := range forms {
		if at, err := where.formAt(forms[i].parse)(text); err == nil && plausible(at) {
			return &forms[i], at
		}
	}
	return nil, at
}

// isBetterThan reports whether a time is more probably the item's own than another time in the same attribute. The
// first difference decides: it is in more texts, it has no time in the future, not all its times are whole days.
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
