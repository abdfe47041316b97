package adopt

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type item = map[string]types.AttributeValue

// foundTimes is the result of the search for the items' own time: when each was created.
type foundTimes struct {
	own      *ownTime // nil if none was found
	empty    bool     // whether there are no items
	rejected []string // attributes with other times, and why these are not the items' own
}

// reasons returns why no own time was found.
func (t foundTimes) reasons() string {
	if len(t.rejected) == 0 {
		return "no sort key or attribute has a time of ISO 8601, Unix time, a ULID, a KSUID or a UUID of version 1, 6 or 7 in all items"
	}
	return strings.Join(t.rejected, "; ")
}

// expiry, changed and planned match names of attributes that have another time than that of creation.
var (
	expiry  = regexp.MustCompile(`(?i)expir|until|delet|purg|time_?to_?live|(^|[_.])ttl|((^|[_.])e|(?-i:[a-z]E))nd(s|ed)?(_?(at|on|date|time))?$`)
	changed = regexp.MustCompile(`(?i)updat|modif|(^|[^x])chang|last|seen|access|(^|[^r])edit`)
	planned = regexp.MustCompile(`(?i)birth|(^|[_.])dob|due|deadline|schedul`)
)

// created matches names of attributes that probably have the time of creation.
var created = regexp.MustCompile(`(?i)creat|insert|occur|ingest|receiv|recorded|(^|[_.])(event_?)?(ts|time|timestamp)$`)

// findTimes finds the items' own time: in the sort key, or else in the attribute that comes first by compare.
func (r *Report) findTimes(items []item, now time.Time) (found foundTimes) {
	if len(items) == 0 {
		return foundTimes{empty: true}
	}
	for _, attr := range append([]string{r.SortKey}, r.attributes(items)...) {
		own, reason := r.ownTime(items, attr, now)
		if reason != "" {
			found.rejected = append(found.rejected, attr+" "+reason)
		}
		foundInSortKey := found.own != nil && found.own.attr == r.SortKey
		if own == nil || foundInSortKey {
			continue
		}
		if found.own == nil || own.compare(found.own) < 0 {
			found.own = own
		}
	}
	return found
}

// scanned has sort keys of other items than the sampled ones that are unlike theirs; "" if there is none.
type scanned struct {
	without string // a sort key without a time
	ahead   string // a sort key with a time in the future
}

// sortKeyChecker returns a function that records an item's sort key in r.scanned if it has no time, or a time in the future.
// The function does nothing unless own, the items' own time, is in the sort key.
func (r *Report) sortKeyChecker(own *ownTime, now time.Time) func(item) {
	if own == nil || own.attr != r.SortKey {
		return func(item) {}
	}
	timeOf, limit := own.timeFunc(), now.Add(shardmap.MaxAhead)
	return func(it item) {
		switch at, err := timeOf(it); {
		case err != nil:
			r.scanned.without = keyText(it, r.SortKey)
		case at.After(limit):
			r.scanned.ahead = keyText(it, r.SortKey)
		}
	}
}

// addScanned adds what the scan of all items found about times in the sort key. A time in the future rejects the sort key's.
func (t *foundTimes) addScanned(s scanned) {
	switch {
	case s.ahead != "":
		t.rejected = append(t.rejected, t.own.attr+" has times in the future, such as "+s.ahead+", so puts of such items would be rejected")
		t.own = nil
	case s.without != "":
		t.own.without = append(t.own.without, s.without)
	}
}

// compare orders the times of attributes, the most probable time of creation first. The first difference decides: the
// name says so, not all times are whole days, the newest time is earlier, the name sorts first.
func (o *ownTime) compare(other *ownTime) int {
	trueFirst := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		trueFirst(created.MatchString(o.attr), created.MatchString(other.attr)),
		trueFirst(!o.days, !other.days), o.last.Compare(other.last), strings.Compare(o.attr, other.attr))
}

// ownTime returns the time in an attribute if it may be the items' own, or else why not; "" if there is no time.
func (r *Report) ownTime(items []item, attr string, now time.Time) (own *ownTime, reason string) {
	own, reason = findTime(items, attr, attr == r.SortKey, now)
	switch {
	case own == nil:
		return nil, reason
	case attr == r.ttl:
		return nil, "is the table's TTL attribute"
	case own.last.After(now.Add(shardmap.MaxAhead)):
		return nil, "has times in the future, such as " + own.last.Format(time.RFC3339) + ", so puts of such items would be rejected"
	case attr == r.SortKey: // the next cases are for other attributes
	case expiry.MatchString(attr):
		return nil, "is the time of an expiry, by its name"
	case changed.MatchString(attr):
		return nil, "changes, by its name"
	case planned.MatchString(attr):
		return nil, "is not the time of creation, by its name"
	case own.allIDs() && own.distinct < len(items):
		return nil, "is another item's id, since several items have the same value"
	}
	return own, ""
}

// attributes returns the names of all attributes of type S and N except the keys, sorted. An attribute in a map has its path
// as the name, such as meta.created.
func (r *Report) attributes(items []item) []string {
	names := map[string]bool{}
	for _, it := range items {
		addNames(names, "", it)
	}
	delete(names, r.PartitionKey)
	delete(names, r.SortKey)
	return slices.Sorted(maps.Keys(names))
}

// addNames adds the names of an item's attributes of type S and N, after a path.
func addNames(names map[string]bool, path string, it item) {
	for name, value := range it {
		switch v := value.(type) {
		case *types.AttributeValueMemberS, *types.AttributeValueMemberN:
			names[path+name] = true
		case *types.AttributeValueMemberM:
			addNames(names, path+name+".", v.Value)
		}
	}
}

// keyText returns a key attribute's value as text.
func keyText(it item, attr string) string {
	text, _ := dynamo.Attribute(it, attr)
	return text
}

// plausible reports whether t is probably a time, and not a number or id of another meaning: it is from 2000 to 2099.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }
