package adopt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type item = map[string]types.AttributeValue

// stampedAttr is an attribute that begins with a time in each sampled item.
type stampedAttr struct {
	shard.Stamp
	name string // of the stamp's constant
	attr string
}

var stamps = []stampedAttr{
	{Stamp: shard.Millis, name: "Millis"}, {Stamp: shard.Seconds, name: "Seconds"}, {Stamp: shard.Micros, name: "Micros"}, {Stamp: shard.Nanos, name: "Nanos"},
	{Stamp: shard.UnixMillis, name: "UnixMillis"}, {Stamp: shard.UnixSeconds, name: "UnixSeconds"},
}

func (s *stampedAttr) time(it item) time.Time {
	at, _, _ := s.Parse(keyText(it, s.attr))
	return at
}

// expression returns the CalculatedSuffix.Time in Go.
func (s *stampedAttr) expression(sortKey string) string {
	if s.attr != sortKey && s.Stamp == shard.UnixSeconds {
		return fmt.Sprintf("table.AttributeTime(%q)", s.attr)
	}
	return fmt.Sprintf("table.SortTime(%q, shard.%s)", s.attr, s.name)
}

// times are the times in sampled items.
type times struct {
	own      *stampedAttr // the items' own time; nil if none was found
	bare     bool         // sort keys are times, without ids
	rejected []string     // why other times are not the items' own
}

// why returns why no time was found.
func (t times) why() string {
	if len(t.rejected) == 0 {
		return "no sort key or attribute begins with a time"
	}
	return strings.Join(t.rejected, "; ")
}

// expiry matches names of attributes whose times are in the future when items are put.
var expiry = regexp.MustCompile(`(?i)expir|(^|_)ttl($|_)`)

// times finds the items' own time. It is in the sort key, or else in the attribute with the earliest times: an item is
// created before it is changed, and expires later.
func (r *Report) times(items []item, now time.Time) (found times) {
	if len(items) == 0 {
		return found
	}
	names := slices.Sorted(maps.Keys(items[0]))
	names = append([]string{r.SortKey}, slices.DeleteFunc(names, func(n string) bool { return n == r.SortKey || n == r.PartitionKey })...)
	var earliest time.Time
	for _, name := range names {
		s, bare := stampOf(items, name)
		if s == nil {
			continue
		}
		found.bare = found.bare || bare && name == r.SortKey
		_, last := s.span(items)
		switch {
		case name == r.ttl:
			found.rejected = append(found.rejected, name+" is the table's TTL attribute")
		case expiry.MatchString(name):
			found.rejected = append(found.rejected, name+" is the time of an expiry, by its name")
		case last.After(now.Add(shardmap.MaxAhead)):
			found.rejected = append(found.rejected, name+" has times in the future, such as "+last.Format(time.RFC3339)+", so puts of such items would be rejected")
		case found.own == nil || found.own.attr != r.SortKey && last.Before(earliest):
			found.own, earliest = s, last
		}
	}
	return found
}

// span returns the earliest and the latest time of the items.
func (s *stampedAttr) span(items []item) (first, last time.Time) {
	first = s.time(items[0])
	for _, it := range items {
		switch at := s.time(it); {
		case at.Before(first):
			first = at
		case at.After(last):
			last = at
		}
	}
	if last.Before(first) {
		last = first
	}
	return first, last
}

// stampOf returns the stamp with which an attribute of all items begins, or nil. bare means that an attribute is only the
// stamp.
func stampOf(items []item, attr string) (stamp *stampedAttr, bare bool) {
	for _, s := range stamps {
		all := true
		bare = false
		for _, it := range items {
			_, number := it[attr].(*types.AttributeValueMemberN)
			at, rest, err := s.Parse(keyText(it, attr))
			all = all && err == nil && s.Number() == number && plausible(at)
			bare = bare || rest == ""
		}
		if all {
			s.attr = attr
			return &s, bare
		}
	}
	return nil, false
}

func keyText(it item, attr string) string {
	text, _ := dynamo.Attribute(it, attr)
	return text
}

// plausible reports whether t is probably a time, and not another number.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }

// idOf returns a string attribute, other than the keys and times, with a different value in each item, or "".
func (r *Report) idOf(items []item) string {
	if len(items) < 2 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(items[0])) {
		seen := map[string]bool{}
		for _, it := range items {
			if text, is := it[name].(*types.AttributeValueMemberS); is {
				seen[text.Value] = true
			}
		}
		stamp, _ := stampOf(items, name)
		if len(seen) == len(items) && stamp == nil && name != r.PartitionKey && name != r.SortKey && name != r.ttl {
			return name
		}
	}
	return ""
}
