package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// SortTime returns a CalculatedSuffix.Time for sort keys that begin with a stamp.
func SortTime(sortKey string, stamp shard.Stamp) func(Item) (time.Time, error) {
	return func(it Item) (time.Time, error) {
		text, _ := dynamo.Attribute(it, sortKey)
		at, _, err := stamp.Parse(text)
		return at, err
	}
}

// AttributeTime returns a CalculatedSuffix.Time for an attribute of type S or N. It may be the sort key, or in a map:
// meta.created_at. Keys must have the attribute, too. The first form that can read the attribute counts; the default is
// [Unix].
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
		return time.Time{}, fmt.Errorf("attribute %s has no time of the table's form: %.60q", name, text)
	}
}

// textAt returns the text or the digits of an attribute, or of one in maps if the name has points.
func textAt(it Item, name string) (text string, ok bool) {
	if it[name] != nil {
		return dynamo.Attribute(it, name)
	}
	first, rest, _ := strings.Cut(name, ".")
	within, isMap := it[first].(*types.AttributeValueMemberM)
	if !isMap {
		return "", false
	}
	return textAt(within.Value, rest)
}

// TimeForm reads the time at the beginning of an attribute's text. The text ends there, or goes on with a character that
// is no letter or digit: 2026-01-05T12:00:45Z#order-1234. Forms are [ISO], [Unix], [ULID], [KSUID] and [UUID], also
// [After] a separator, [Untimed], and functions of the caller.
type TimeForm func(text string) (time.Time, error)

// After returns the form of times that follow a text's nth sep, or its last one if n is 0: After("#", 1, ISO) reads
// ORDER#2026-01-05T12:00:45Z.
func After(sep string, n int, form TimeForm) TimeForm {
	return func(text string) (time.Time, error) {
		rest, ok := cutAfter(text, sep, n)
		if !ok {
			return time.Time{}, &shard.KeyError{Key: text, Reason: fmt.Sprintf("it has fewer than %d times %q", max(n, 1), sep)}
		}
		return form(rest)
	}
}

func cutAfter(text, sep string, n int) (rest string, ok bool) {
	if n == 0 {
		at := strings.LastIndex(text, sep)
		if at < 0 {
			return "", false
		}
		return text[at+len(sep):], true
	}
	for rest, ok = text, true; n > 0 && ok; n-- {
		_, rest, ok = strings.Cut(rest, sep)
	}
	return rest, ok
}

// Untimed reads any text as 1970, when a name had one write shard. As the last of several forms it keeps the items that have
// no time, such as PROFILE beside ORDER#2026-01-05T12:00:45Z, under the first write shard for ever. Use it for sort keys
// only: a key from which a caller leaves out another attribute would pass as an item without a time.
func Untimed(string) (time.Time, error) { return time.Unix(0, 0).UTC(), nil }
