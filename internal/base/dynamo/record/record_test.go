package record_test

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/test/require"
)

// exact is a number with more digits than an int64 has.
type exact string

func (e exact) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: string(e)}, nil
}

func (e *exact) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("it is not a number")
	}
	*e = exact(n.Value)
	return nil
}

type inner struct {
	Done bool   `dynamodbav:"done"`
	From string `dynamodbav:"from,omitempty"`
}

type note struct {
	record.Key
	Version int              `dynamodbav:"v"`
	At      time.Time        `dynamodbav:"at"`
	Ends    time.Time        `dynamodbav:"expires_at,unixtime,omitempty"`
	Sum     exact            `dynamodbav:"sum"`
	Text    string           `dynamodbav:"text"`
	Bytes   []byte           `dynamodbav:"bytes"`
	Maybe   []byte           `dynamodbav:"maybe,omitempty"`
	Counts  map[string]int64 `dynamodbav:"counts"`
	inner
}

type item = map[string]types.AttributeValue

func n(text string) types.AttributeValue  { return &types.AttributeValueMemberN{Value: text} }
func s(text string) types.AttributeValue  { return &types.AttributeValueMemberS{Value: text} }
func yes(is bool) types.AttributeValue    { return &types.AttributeValueMemberBOOL{Value: is} }
func b(text string) types.AttributeValue  { return &types.AttributeValueMemberB{Value: []byte(text)} }
func m(members item) types.AttributeValue { return &types.AttributeValueMemberM{Value: members} }
func diff(want, got any) string           { return cmp.Diff(want, got, avs, cmp.AllowUnexported(note{})) }
func without(it item, name string) item   { it = maps.Clone(it); delete(it, name); return it }
func with(it item, name string, v types.AttributeValue) item {
	it = maps.Clone(it)
	it[name] = v
	return it
}

var avs = cmpopts.IgnoreUnexported(types.AttributeValueMemberN{}, types.AttributeValueMemberS{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberM{})

var noon = time.Date(2026, 1, 5, 12, 0, 0, 125e6, time.UTC)

// full returns a note and its item.
func full() (note, item) {
	const digits = "-123456789012345678901234567890.5"
	one := note{
		Key: record.Key{PK: "p", SK: "s"}, Version: 1, At: noon, Ends: noon.Truncate(time.Second), Sum: digits,
		Text: "t", Bytes: []byte("b"), Maybe: []byte("m"), Counts: map[string]int64{"a b": -3}, inner: inner{true, "f"},
	}
	return one, item{
		"pk": s("p"), "sk": s("s"), "v": n("1"), "at": n("1767614400125"), "expires_at": n("1767614400"), "sum": n(digits),
		"text": s("t"), "bytes": b("b"), "maybe": b("m"), "counts": m(item{"a b": n("-3")}), "done": yes(true), "from": s("f"),
	}
}

// TestForm checks the attributes of a whole record and of an empty one, and that the whole one is read back.
func TestForm(t *testing.T) {
	one, want := full()
	if d := diff(want, record.Item(one)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var got note
	if err := record.Read(want, &got); err != nil || !got.Ends.Equal(one.Ends) {
		t.Fatalf("%v: ends %v", err, got.Ends)
	}
	got.Ends = one.Ends // it may have another zone
	if d := diff(one, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	bare := note{At: noon, Sum: "0", Bytes: []byte{}, Counts: map[string]int64{}}
	want = item{"v": n("0"), "at": n("1767614400125"), "sum": n("0"), "text": s(""), "bytes": b(""), "counts": m(item{}), "done": yes(false)}
	if d := diff(want, record.Item(bare)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDamaged checks that the error for an attribute of a wrong type or value, or a missing one, names the attribute.
func TestDamaged(t *testing.T) {
	_, whole := full()
	for name, bad := range map[string][]types.AttributeValue{
		"v": {s("1"), n("1.5"), n("9223372036854775808"), b("1")}, "at": {s("2026-01-05T12:00:00Z"), n("x")}, "expires_at": {n("1.5"), s("x")},
		"sum": {s("1")}, "text": {n("1"), yes(true)}, "bytes": {s("b"), n("1")}, "maybe": {s("m")}, "from": {yes(true), n("1")},
		"counts": {s("a"), m(item{"a": s("1")}), m(item{"a": n("x")})}, "done": {s("true"), n("1")},
	} {
		for _, value := range append(bad, &types.AttributeValueMemberNULL{Value: true}) {
			err := record.Read(with(whole, name, value), new(note))
			if err == nil || !strings.Contains(err.Error(), "attribute "+name+": ") {
				t.Errorf("%s = %v: %v", name, value, err)
			}
		}
		err := record.Read(without(whole, name), new(note))
		optional := name == "maybe" || name == "from" || name == "expires_at"
		if (err == nil) != optional || err != nil && !strings.Contains(err.Error(), "attribute "+name+": it is missing") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	bad := with(whole, "counts", m(item{"a": n("1"), "b\n": n("x"), "c": n("y")}))
	if err := record.Read(bad, new(note)); err == nil || !strings.Contains(err.Error(), `attribute counts: member "b\n": `) {
		t.Errorf("a map with two invalid members: %v, want the first named", err)
	}
	type count struct {
		N uint64 `dynamodbav:"n,omitempty"`
	}
	for digits, good := range map[string]bool{"0": true, "9223372036854775807": true, "9223372036854775808": false, "-1": false} {
		if err := record.Read(item{"n": n(digits)}, new(count)); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "attribute n: ") {
			t.Errorf("a uint64 of %s: %v", digits, err)
		}
	}
	var syntax *strconv.NumError
	if err := record.Read(item{"n": n("-1")}, new(count)); !errors.As(err, &syntax) {
		t.Errorf("a uint64 of -1: %v, want the reason of package strconv", err)
	}
	if record.Read(nil, new(note)) == nil {
		t.Error("a nil item was accepted")
	}
}

// TestRoundTrip checks that any record is the same after it was stored and read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := note{
			Version: rapid.Int().Draw(t, "version"), At: time.UnixMilli(rapid.Int64Range(-1e14, 1e14).Draw(t, "at")).UTC(),
			Sum: exact(rapid.StringMatching(`-?[1-9][0-9]{0,37}`).Draw(t, "sum")), Text: rapid.String().Draw(t, "text"),
			Bytes:  append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...),
			Counts: rapid.MapOf(rapid.StringN(1, 20, -1), rapid.Int64()).Draw(t, "counts"),
			inner:  inner{rapid.Bool().Draw(t, "done"), rapid.String().Draw(t, "from")},
		}
		var got note
		require.NoError(t, record.Read(record.Item(want), &got))
		if d := diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// broken can't be stored.
type broken struct{}

func (broken) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("it is broken")
}

// TestNoRecord checks that Item and Read panic for values that can't be stored.
func TestNoRecord(t *testing.T) {
	type unstored struct {
		B broken `dynamodbav:"b"`
	}
	for want, call := range map[string]func(){
		"record: a int can't be stored":                                    func() { record.Item(1) },
		"record: a record_test.unstored can't be stored: it ":              func() { record.Item(unstored{}) },
		"record: the field B of record_test.unstored can't be stored: it ": func() { _ = record.Read(item{}, new(unstored)) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, want) {
					t.Errorf("%s, want %s", text, want)
				}
			}()
			call()
		}()
	}
}
