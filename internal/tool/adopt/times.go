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

// times are the times in sampled items.
type times struct {
	own      *ownTime // the items' own time; nil if none was found
	empty    bool     // there are no items
	rejected []string // why other times are not the items' own
}

// why returns why no time was found.
func (t times) why() string {
	if len(t.rejected) == 0 {
		return "no sort key or attribute has a time of ISO 8601, Unix time, a ULID, a KSUID or a UUID of version 1, 6 or 7 in all items"
	}
	return strings.Join(t.rejected, "; ")
}

// Names of attributes that have no time of creation.
var (
	expiry  = regexp.MustCompile(`(?i)expir|(^|[_.])ttl($|[_.])`)
	changed = regexp.MustCompile(`(?i)updat|modif|(^|[^x])chang|last|seen|access|(^|[^r])edit`)
	planned = regexp.MustCompile(`(?i)birth|due|deadline|schedul`)
)

// created matches names of attributes that probably have the time of creation.
var created = regexp.MustCompile(`(?i)creat|insert|occur|ingest|receiv|recorded|(^|[_.])(event_?)?(ts|time|timestamp)$`)

// times finds the items' own time: in the sort key, or else in an attribute, first by its name, then the one with the
// earliest times: an item is created before it is changed, and expires later.
func (r *Report) times(items []item, now time.Time) (found times) {
	if len(items) == 0 {
		return times{empty: true}
	}
	for _, attr := range append([]string{r.SortKey}, r.attributes(items)...) {
		own, reason := r.ownTime(items, attr, now)
		switch {
		case reason != "":
			found.rejected = append(found.rejected, attr+" "+reason)
		case own != nil && (found.own == nil || found.own.attr != r.SortKey && own.compare(found.own) < 0):
			found.own = own
		}
	}
	return found
}

// scanned has the sort keys of all items that are not like those of the sample.
type scanned struct {
	without string // a sort key without a time, "" if there is none
	ahead   string // one with a time in the future
}

// checkOf returns a function that checks an item's sort key, if the items' own time is there.
func (r *Report) checkOf(own *ownTime, now time.Time) func(item) {
	if own == nil || own.attr != r.SortKey {
		return func(item) {}
	}
	read, limit := own.read(), now.Add(shardmap.MaxAhead)
	return func(it item) {
		switch at, err := read(it); {
		case err != nil:
			r.scanned.without = keyText(it, r.SortKey)
		case at.After(limit):
			r.scanned.ahead = keyText(it, r.SortKey)
		}
	}
}

// add adds what the scan of all items shows about the sort keys' times.
func (t *times) add(s scanned) {
	switch {
	case s.ahead != "":
		t.rejected = append(t.rejected, t.own.attr+" has times in the future, such as "+s.ahead+", so puts of such items would be rejected")
		t.own = nil
	case s.without != "":
		t.own.without = append(t.own.without, s.without)
	}
}

// compare orders the times of attributes, the most probable time of creation first.
func (o *ownTime) compare(other *ownTime) int {
	after := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		after(!created.MatchString(o.attr))-after(!created.MatchString(other.attr)),
		after(o.days)-after(other.days), o.last.Compare(other.last), strings.Compare(o.attr, other.attr))
}

// ownTime returns the time of an attribute. It returns nil if there is none, or the reason why it isn't the items' own.
func (r *Report) ownTime(items []item, attr string, now time.Time) (own *ownTime, reason string) {
	own, reason = findTime(items, attr, attr == r.SortKey, now)
	switch {
	case own == nil:
		return nil, reason
	case attr == r.ttl:
		return nil, "is the table's TTL attribute"
	case attr == r.SortKey:
	case expiry.MatchString(attr):
		return nil, "is the time of an expiry, by its name"
	case changed.MatchString(attr):
		return nil, "changes, by its name"
	case planned.MatchString(attr):
		return nil, "is not the time of creation, by its name"
	case own.ids() && own.distinct < len(items):
		return nil, "is another item's id, since several items have the same"
	}
	if own.last.After(now.Add(shardmap.MaxAhead)) {
		return nil, "has times in the future, such as " + own.last.Format(time.RFC3339) + ", so puts of such items would be rejected"
	}
	return own, ""
}

// attributes returns the names of all attributes of type S and N except the keys, sorted. Those in maps have a path.
func (r *Report) attributes(items []item) []string {
	names := map[string]bool{}
	for _, it := range items {
		addNames(names, "", it)
	}
	delete(names, r.PartitionKey)
	delete(names, r.SortKey)
	return slices.Sorted(maps.Keys(names))
}

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

func keyText(it item, attr string) string {
	text, _ := dynamo.Attribute(it, attr)
	return text
}

// plausible reports whether t is probably a time, and not another number.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }
