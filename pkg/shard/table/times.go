package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// SortTime returns a CalculatedSuffix.Time that reads the stamp at the beginning of the sort key.
func SortTime(sortKey string, stamp shard.Stamp) func(Item) (time.Time, error) {
	return func(it Item) (time.Time, error) {
		text, _ := dynamo.Attribute(it, sortKey)
		at, _, err := stamp.Parse(text)
		return at, err
	}
}

// AttributeTime returns a CalculatedSuffix.Time that reads an attribute of type S or N. The attribute may be the sort
// key, or within a map: meta.created_at. The keys of Get, Update and Delete must also have the attribute. The first
// form that can read the attribute wins; without forms it is [Unix].
func AttributeTime(name string, forms ...TimeForm) func(Item) (time.Time, error) {
	if len(forms) == 0 {
		forms = []TimeForm{Unix}
	}
	return func(it Item) (time.Time, error) {
		text, ok := textAt(it, name)
		if !ok {
			return time.Time{}, fmt.Errorf("the item has no string or number %s", name)
		}
		for _, form := range forms {
			if at, err := form(text); err == nil {
				return at, nil
			}
		}
		return time.Time{}, fmt.Errorf("attribute %s is %.60q, which none of its TimeForms can read (if none are given: Unix)", name, text)
	}
}

// textAt returns the text or digits of an attribute; ok is false if it is not S or N. Dots lead into maps: meta.sent_at.
func textAt(it Item, name string) (text string, ok bool) {
	if it[name] != nil {
		return dynamo.Attribute(it, name)
	}
	first, rest, _ := strings.Cut(name, ".")
	nested, isMap := it[first].(*types.AttributeValueMemberM)
	if !isMap {
		return "", false
	}
	return textAt(nested.Value, rest)
}

// TimeForm returns the time at the beginning of an attribute's text. After the time the text ends, or continues with a
// character that is no letter or digit: 2026-01-05T12:00:45Z#order-1234. Any other text is an error. Forms are [ISO],
// [Unix], [ULID], [KSUID], [UUID] and [Untimed], what [After] returns, and functions of the caller.
type TimeForm func(text string) (time.Time, error)

// After returns the form of times that follow the nth separator of a text, or the last separator if n is 0:
// After("#", 1, ISO) reads ORDER#2026-01-05T12:00:45Z.
func After(sep string, n int, form TimeForm) TimeForm {
	return func(text string) (time.Time, error) {
		rest, ok := cutAfter(text, sep, n)
		if !ok {
			return time.Time{}, &shard.KeyError{Key: text, Reason: fmt.Sprintf("it has fewer than %d separators %q before its time", max(n, 1), sep)}
		}
		return form(rest)
	}
}

// cutAfter returns the text after the nth separator, or after the last one if n is 0; ok is false if there are fewer.
func cutAfter(text, sep string, n int) (rest string, ok bool) {
	if n == 0 {
		last := strings.LastIndex(text, sep)
		if last < 0 {
			return "", false
		}
		return text[last+len(sep):], true
	}
	rest = text
	for range n {
		if _, rest, ok = strings.Cut(rest, sep); !ok {
			return "", false
		}
	}
	return rest, true
}

// Untimed reads any text as a time in 1970, for which every name has one write shard. As the last of several forms it keeps
// items without a time, such as PROFILE beside ORDER#2026-01-05T12:00:45Z, on the first write shard for ever. Use it for
// sort keys only. In another attribute it would also take a time that the other forms can't read for no time.
func Untimed(string) (time.Time, error) { return time.Unix(0, 0).UTC(), nil }
