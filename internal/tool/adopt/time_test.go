package adopt_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/pkg/shard"
)

// expiring is a client whose table has a TTL attribute, or whose TTL can't be read.
type expiring struct {
	*dynamodb.Client
	attr string
	err  error
}

func (e expiring) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	if e.err != nil {
		return nil, e.err
	}
	d := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if e.attr != "" {
		d = &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusEnabled, AttributeName: &e.attr}
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: d}, nil
}

// attribute returns a time in one of the forms of attributes.
type attribute func(time.Time) types.AttributeValue

func seconds(at time.Time) types.AttributeValue { return libtest.Num(at.Unix()) }

func unixMillis(at time.Time) types.AttributeValue { return libtest.Num(at.UnixMilli()) }

func iso(at time.Time) types.AttributeValue { return libtest.Str(shard.Seconds.Format(at)) }

// dated returns orders with an attribute in addition, whose time is after the order's by d.
func dated(items []item, name string, d time.Duration, form attribute) []item {
	var list []item
	for i, it := range items {
		with := maps.Clone(it)
		with[name] = form(now.Add(time.Duration(i-len(items))*time.Minute + d))
		list = append(list, with)
	}
	return list
}

// unfinishedLayout is in the lines of a table without a time.
const unfinishedLayout = "Time: func(it table.Item) (time.Time, error) {"

// TestSortKeysBeyondTheSample checks that the keys of all items count, not only those of the sampled ones.
func TestSortKeysBeyondTheSample(t *testing.T) {
	client := enginetest.Client(t)
	for name, c := range map[string]struct {
		last types.AttributeValue
		want string
	}{
		"with a time":    {millis(now, "last"), `table.AttributeTime("placed", table.ISO)}`},
		"without a time": {libtest.Str("PROFILE"), `table.AttributeTime("placed", table.ISO, table.Untimed)}`},
		"in the future":  {millis(now.Add(week), "last"), "placed has times in the future, such as 2026-01-12T22:00:00.000Z#last"},
	} {
		items := append(orders("acme", 3, millis), item{"customer": libtest.Str("acme"), "placed": c.last})
		table := fill(t, client, "S", items...)
		r := examine(t, sampling{client, 3}, table, now)
		if got := r.Lines + strings.Join(r.Refusals, "\n"); r.Items != 4 || r.Sampled != 3 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d items, %d sampled, lines %q, refusals %q; want %q", name, r.Items, r.Sampled, r.Lines, r.Refusals, c.want)
		}
	}
}

// sampling is a client whose sample has fewer items.
type sampling struct {
	*dynamodb.Client
	size int
}

func (s sampling) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, err := s.Client.Scan(ctx, in, o...)
	if err == nil && in.ProjectionExpression == nil {
		slices.SortFunc(out.Items, func(a, b item) int { return strings.Compare(libtest.Text(a["placed"]), libtest.Text(b["placed"])) })
		out.Items = out.Items[:s.size]
	}
	return out, err
}

const week = 7 * 24 * time.Hour

// TestTimeOfItems checks from which attribute Examine takes an item's time: never from the table's TTL attribute, and never
// from one with times in the future, whether or not the TTL can be read. Without another time the table can't be adopted.
func TestTimeOfItems(t *testing.T) {
	client := enginetest.Client(t)
	noID := orders("acme", 5, onlyID)
	for i := range noID {
		delete(noID[i], "order")
	}
	ahead := func(at time.Time, id string) types.AttributeValue { return millis(at.Add(week), id) }
	bareAhead := func(at time.Time, _ string) types.AttributeValue { return libtest.Num(at.Add(week).Unix()) }
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform: dynamodb:DescribeTimeToLive"}
	unknown := &smithy.GenericAPIError{Code: "UnknownOperationException"}
	for name, c := range map[string]struct {
		sort  types.ScalarAttributeType // "" for S
		items []item
		ttl   string // the TTL attribute
		err   error  // of DescribeTimeToLive
		want  string // the layout, or the refusal
	}{
		"TTL in a week":              {items: dated(noID, "TTL", week, seconds), ttl: "TTL", want: "TTL is the table's TTL attribute"},
		"TTL that has passed":        {items: dated(noID, "gone", 0, seconds), ttl: "gone", want: "gone is the table's TTL attribute"},
		"TTL of another name":        {items: dated(noID, "a", week, seconds), ttl: "a", want: "a is the table's TTL attribute"},
		"TTL as text":                {items: dated(noID, "until", 0, iso), ttl: "until", want: "until is the table's TTL attribute"},
		"TTL and a time":             {items: dated(dated(noID, "a", week, seconds), "made", 0, seconds), ttl: "a", want: `Time: table.AttributeTime("made", table.Unix)`},
		"TTL is off":                 {items: dated(noID, "ends", week, seconds), want: "ends has times in the future"},
		"TTL is off, a time is left": {items: dated(dated(noID, "ends", week, seconds), "made", 0, seconds), want: `Time: table.AttributeTime("made", table.Unix)`},
		"TTL was on":                 {items: dated(noID, "ttl", -week, seconds), want: "ttl is the time of an expiry"},
		"no permission":              {items: dated(noID, "ends", week, seconds), err: denied, want: "ends has times in the future"},
		"no permission, a time":      {items: dated(dated(noID, "a", week, iso), "made", 0, seconds), err: denied, want: `Time: table.AttributeTime("made", table.Unix)`},
		"an engine without TTL":      {items: dated(noID, "ends", week, seconds), err: unknown, want: "ends has times in the future"},
		"no answer":                  {items: dated(dated(noID, "a", week, seconds), "made", 0, seconds), err: errors.New("500"), want: `Time: table.AttributeTime("made", table.Unix)`},
		"milliseconds ahead":         {items: dated(noID, "ends", week, unixMillis), want: "ends has times in the future"},
		"text ahead":                 {items: dated(noID, "ends", week, iso), want: "ends has times in the future"},
		"one item ahead":             {items: append(dated(noID, "ends", 0, seconds), item{"customer": libtest.Str("acme"), "placed": libtest.Str("z"), "ends": seconds(now.Add(3 * time.Second))}), want: "ends has times in the future"},
		"an expiry that has passed":  {items: dated(dated(noID, "a", -time.Hour, seconds), "made", -2*time.Hour, seconds), want: `Time: table.AttributeTime("made", table.Unix)`},
		"sort key ahead":             {items: orders("acme", 5, ahead), want: "placed has times in the future"},
		"sort key ahead and a time":  {items: dated(orders("acme", 5, ahead), "made", 0, seconds), want: `Time: table.AttributeTime("made", table.Unix)`},
		"sort key is the TTL":        {sort: "N", items: orders("acme", 5, bareAhead), ttl: "placed", want: "placed is the table's TTL attribute"},
		"sort key was the TTL":       {sort: "N", items: orders("acme", 5, unix), ttl: "placed", want: "placed is the table's TTL attribute"},
		"one KSUID":                  {items: []item{{"customer": libtest.Str("acme"), "placed": libtest.Str(ksuid(now, 1))}}, want: "no sort key or attribute has a time"},
		"two KSUIDs":                 {items: []item{{"customer": libtest.Str("acme"), "placed": libtest.Str(ksuid(now, 1))}, {"customer": libtest.Str("acme"), "placed": libtest.Str(ksuid(now, 2))}}, want: `table.KSUID`},
		"no items":                   {want: "The table is empty"},
	} {
		theirs := fill(t, client, cmp.Or(c.sort, "S"), c.items...)
		r, err := adopt.Examine(t.Context(), expiring{client, c.ttl, c.err}, adopt.Options{Table: theirs, Format: shard.HashShard, ReadUnits: 1000, Now: now})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fits := len(r.Refusals) == 0
		if got := r.Lines + strings.Join(r.Refusals, "\n"); !strings.Contains(got, c.want) || fits == (r.Lines == "" || strings.Contains(r.Lines, unfinishedLayout)) || fits == (len(r.Refusals) == 1) {
			t.Errorf("%s: want %q; lines %q, refusals %q", name, c.want, r.Lines, r.Refusals)
		}
		if notes := strings.Join(r.Notes, "\n"); c.err != nil && !strings.Contains(notes, "TTL can't be read") {
			t.Errorf("%s: the notes do not say that the TTL is unknown: %q", name, notes)
		}
	}
}
