package sessions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// noon is the time of the tests' calls, to the millisecond.
var noon = libtest.Later.Add(123 * time.Millisecond)

// stored returns the attributes of a session that ends at ends. If that is zero, it is the mark of an ended one.
func stored(started, renewed, ends time.Time) item {
	it := item{"renewed_at": dynamo.Number(renewed.UnixMilli()), "expires_at": dynamo.Number(1)}
	if !ends.IsZero() {
		it["started_at"], it["ends_at"] = dynamo.Number(started.UnixMilli()), dynamo.Number(ends.UnixMilli())
	}
	return it
}

// oneItem is a scripted client with one item, and no index.
type oneItem struct {
	libtest.Scripted
	held  item
	unget []error // the errors of the first gets
	gets  int
}

func (c *oneItem) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if c.gets++; c.gets <= len(c.unget) {
		return nil, c.unget[c.gets-1]
	}
	if !*in.ConsistentRead || !reflect.DeepEqual(in.Key, itemKey("g", "z")) {
		return nil, fmt.Errorf("unexpected read %+v", in)
	}
	return &dynamodb.GetItemOutput{Item: c.held}, nil
}

func (c *oneItem) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, errors.New("not expected")
}

func storeOf(c *oneItem) *Store { return New(c, "t", libtest.MapOf("S#g", "1:5"), Options{}) }

// TestWritesOfASession checks each write of a session: its condition, its changes and when TTL deletes the item, which
// outlives the longest late attempt.
func TestWritesOfASession(t *testing.T) {
	const (
		set       = "SET ends_at = :ends, expires_at = :expires, renewed_at = :now, session_shard = :shard, started_at = "
		newer     = "(attribute_not_exists(renewed_at) OR renewed_at < :now)"
		isActive  = newer + " AND (attribute_not_exists(ends_at) OR ends_at > :now)"
		unchanged = "started_at = :started AND renewed_at = :renewed AND ends_at = :ended"
	)
	s, held := storeOf(&oneItem{}), Session{Started: noon.Add(-time.Hour), Renewed: noon.Add(-time.Minute), Ends: noon.Add(time.Hour)}
	plain, withData := Lease{Group: "g", ID: "z", TTL: time.Hour}, Lease{Group: "g", ID: "z", TTL: time.Second, Data: item{"a": dynamo.Number(1)}}
	read := item{":started": dynamo.Number(held.Started.UnixMilli()), ":renewed": dynamo.Number(held.Renewed.UnixMilli()), ":ended": dynamo.Number(held.Ends.UnixMilli())}
	for name, c := range map[string]struct {
		got               *types.Update
		condition, update string
		ends              time.Duration // 0 for an end
		expires           time.Duration
		data              types.AttributeValue
		read              item
	}{
		"renewed":            {s.renew(plain, 3, noon), isActive, set + "if_not_exists(started_at, :now)", time.Hour, time.Hour, nil, nil},
		"renewed with data":  {s.renew(withData, 3, noon), isActive, set + "if_not_exists(started_at, :now), #data = :data", time.Second, 2 * time.Minute, &types.AttributeValueMemberM{Value: withData.Data}, nil},
		"started":            {s.start(plain, 3, noon), newer + " AND NOT ends_at > :now", set + ":now REMOVE #data", time.Hour, time.Hour, nil, nil},
		"started with data":  {s.start(withData, 3, noon), newer + " AND NOT ends_at > :now", set + ":now, #data = :data", time.Second, 2 * time.Minute, &types.AttributeValueMemberM{Value: withData.Data}, nil},
		"renewed with a key": {ifUnchanged(s.renew(plain, 3, noon), held), unchanged, set + "if_not_exists(started_at, :now)", time.Hour, time.Hour, nil, read},
		"ended":              {s.end("g", "z", noon), newer, "SET renewed_at = :now, expires_at = :expires REMOVE started_at, ends_at, session_shard, #data", 0, 2 * time.Minute, nil, nil},
	} {
		values := item{":now": dynamo.Number(noon.UnixMilli()), ":expires": dynamo.Number(noon.Add(c.expires).Unix() + 1)} // rounded up
		if c.ends > 0 {
			values[":ends"], values[":shard"] = dynamo.Number(noon.Add(c.ends).UnixMilli()), dynamo.String("S#g#3")
		}
		if c.data != nil {
			values[":data"] = c.data
		}
		for name, value := range c.read {
			values[name] = value
		}
		want := &types.Update{
			TableName: aws.String("t"), Key: itemKey("g", "z"), ConditionExpression: &c.condition, UpdateExpression: &c.update,
			ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
		if name != "renewed" && name != "renewed with a key" {
			want.ExpressionAttributeNames = map[string]string{"#data": "data"}
		}
		if !reflect.DeepEqual(c.got, want) {
			t.Errorf("%s: %s if %s, %v; want %s if %s, %v", name, *c.got.UpdateExpression, *c.got.ConditionExpression, c.got, *want.UpdateExpression, *want.ConditionExpression, want)
		}
	}
}

// TestWriteByHeldSession checks which write a call makes by the session as last read, with and without a key.
func TestWriteByHeldSession(t *testing.T) {
	lease := Lease{Group: "g", ID: "z", TTL: time.Hour, Data: item{"a": dynamo.Number(2)}}
	before := noon.Add(-time.Minute)
	for name, c := range map[string]struct {
		held    item
		started bool      // or renewed
		keyed   bool      // so with a key, too
		at      time.Time // of the keyed write
	}{
		"none":                  {nil, false, true, noon},
		"active":                {stored(before, before, noon.Add(time.Millisecond)), false, false, noon},
		"ends now":              {stored(before, before, noon), true, true, noon},
		"ended by a call":       {stored(before, before, time.Time{}), false, true, noon},
		"renewed now":           {stored(before, noon, noon.Add(time.Hour)), false, false, noon.Add(time.Millisecond)},
		"renewed just before":   {stored(before, noon.Add(-time.Millisecond), noon.Add(time.Hour)), false, false, noon},
		"renewed by a late one": {stored(before, noon.Add(time.Second), noon.Add(time.Hour)), false, false, noon.Add(1001 * time.Millisecond)},
	} {
		db := &oneItem{held: c.held}
		s := storeOf(db)
		held, err := parseSession("g", "z", c.held)
		if err != nil {
			t.Fatal(err)
		}
		call := s.newCall("g", "z", &lease, noon.Add(999*time.Microsecond))
		want := s.renew(lease, 4, noon)
		if c.started {
			want = s.start(lease, 4, noon)
		}
		if got := call.nextUpdate(held, 4); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if got, want := s.newCall("g", "z", nil, noon).nextUpdate(held, 4), s.end("g", "z", noon); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the end is %+v, want %+v", name, got, want)
		}
		w, one, err := s.PutTransact(t.Context(), lease, noon)
		want = ifUnchanged(s.renew(lease, 4, c.at), held) // z is on write shard 4 of 5
		wantOne := Session{Group: "g", ID: "z", Data: lease.Data, Started: held.Started, Renewed: c.at, Ends: c.at.Add(time.Hour)}
		if c.keyed {
			want, wantOne.Started = s.start(lease, 4, c.at), c.at
		}
		if !reflect.DeepEqual(w.Action.Update, want) || !reflect.DeepEqual(one, wantOne) || err != nil {
			t.Errorf("%s, with a key: %+v, %+v, %v; want %+v, %+v", name, w.Action.Update, one, err, want, wantOne)
		}
		if w.Attempt.Key != "S#g" || w.Attempt.Shard != 4 || w.Attempt.Items == 0 || dynamo.Text(w.Probe, "session_shard") != "S#g#4" {
			t.Errorf("%s: attempt %+v, probe %v", name, w.Attempt, w.Probe)
		}
	}
	if w := storeOf(&oneItem{}).EndTransact(t.Context(), "g", "z", noon); !reflect.DeepEqual(w.Action.Update, storeOf(&oneItem{}).end("g", "z", noon)) {
		t.Errorf("EndTransact = %+v", w.Action.Update)
	}
}

// TestCallIsDone checks when a call that finds a session makes no further write: it is as the call would leave it, or was
// written more than two seconds after the call's time.
func TestCallIsDone(t *testing.T) {
	put := &Lease{Group: "g", ID: "z", TTL: time.Hour}
	before, hour := noon.Add(-time.Minute), noon.Add(time.Hour)
	for name, c := range map[string]struct {
		held item
		end  bool // the call of End is done
		put  bool // the call of Put is done
	}{
		"the put's own":      {stored(before, noon, hour), false, true},
		"renewed for longer": {stored(before, noon, hour.Add(1)), false, true},
		"another end":        {stored(before, noon, hour.Add(time.Millisecond)), false, false},
		"renewed before":     {stored(before, noon.Add(-time.Millisecond), hour), false, false},
		"ended before":       {stored(before, noon.Add(-time.Millisecond), time.Time{}), false, false},
		"ended then":         {stored(before, noon, time.Time{}), true, false},
		"ended later":        {stored(before, noon.Add(2*time.Second), time.Time{}), true, false},
		"ended much later":   {stored(before, noon.Add(2001*time.Millisecond), time.Time{}), true, true},
		"renewed later":      {stored(before, noon.Add(2*time.Second), hour), false, false},
		"renewed much later": {stored(before, noon.Add(2001*time.Millisecond), hour), true, true},
	} {
		s := storeOf(&oneItem{})
		held, err := parseSession("g", "z", c.held)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.newCall("g", "z", nil, noon).isDone(held); got != c.end {
			t.Errorf("%s: End is done: %t", name, got)
		}
		if got := s.newCall("g", "z", put, noon).isDone(held); got != c.put {
			t.Errorf("%s: Put is done: %t", name, got)
		}
	}
}

// TestAttemptsOfAPut checks the times of a put's writes, what it returns and its error, by the results of its attempts. A
// write with the time of a newer one comes after it.
func TestAttemptsOfAPut(t *testing.T) {
	found := func(it item) error { return &types.ConditionalCheckFailedException{Item: it} }
	before, hour := noon.Add(-time.Minute), noon.Add(time.Hour)
	isNewer := found(stored(before, noon.Add(time.Second), hour))
	damaged := stored(before, noon, hour)
	damaged["started_at"] = dynamo.String("x")
	for name, c := range map[string]struct {
		updates  []error
		writes   []time.Duration // after noon
		attempts int             // if there are more than writes
		renewed  time.Duration   // of the returned session, after noon
		err      error
	}{
		"written":              {nil, []time.Duration{0}, 1, 0, nil},
		"ended meanwhile":      {[]error{found(stored(before, before, before))}, []time.Duration{0, 0}, 2, 0, nil},
		"newer by a second":    {[]error{isNewer}, []time.Duration{0, 1001 * time.Millisecond}, 2, 0, nil},
		"a late attempt's own": {[]error{found(stored(before, noon, hour))}, []time.Duration{0}, 1, 0, nil},
		"much newer":           {[]error{found(stored(before, noon.Add(3*time.Second), hour))}, []time.Duration{0}, 1, 3 * time.Second, nil},
		"much newer end":       {[]error{found(stored(before, noon.Add(3*time.Second), time.Time{}))}, []time.Duration{0}, 1, 0, nil},
		"damaged":              {[]error{found(damaged)}, []time.Duration{0}, 1, 0, errDamaged},
		"throttled":            {[]error{libtest.Hot(libtest.IndexHot)}, []time.Duration{0, 0}, 2, 0, nil},
		"never written":        {slices.Repeat([]error{found(stored(before, before, before))}, 99), nil, 4 * dynamo.MaxAttempts, 0, shard.ErrContended},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := &oneItem{Scripted: libtest.Scripted{Updates: c.updates, Stored: stored(before, noon, hour)}}
			w := &libtest.Listener{}
			one, err := New(db, "t", libtest.MapOf("S#g", "1:5"), Options{Observer: w}).Put(t.Context(), Lease{Group: "g", ID: "z", TTL: time.Hour}, noon)
			for _, a := range w.Attempts {
				if a.Key != "S#g" || a.Shard != 4 || a.Call != w.Attempts[0].Call || a.Items == 0 {
					t.Errorf("%s: attempt %+v", name, a)
				}
			}
			if len(db.Updated) != c.attempts || w.All != c.attempts || len(w.Attempts) != c.attempts || (err == nil) != (c.err == nil) || c.err != nil && c.err != errDamaged && !errors.Is(err, c.err) {
				t.Errorf("%s: %d attempts, %v; want %d, %v", name, len(db.Updated), err, c.attempts, c.err)
			}
			if want := noon.Add(c.renewed); err == nil && (!one.Renewed.Equal(want) || one.Ends.Before(hour) || one.ID != "z") {
				t.Errorf("%s: returns %+v, want it renewed at %v", name, one, want)
			}
			for i, after := range c.writes {
				in := db.Updated[i]
				if got, want := dynamo.Digits(in.ExpressionAttributeValues, ":now"), fmt.Sprint(noon.Add(after).UnixMilli()); got != want || in.ReturnValues != types.ReturnValueAllNew {
					t.Errorf("%s: write %d has the time %s, returns %s; want %s, %s", name, i, got, in.ReturnValues, want, types.ReturnValueAllNew)
				}
			}
		})
	}
}

var errDamaged = errors.New("any")

// TestGetBySession checks what Get returns by the stored item, and that PutTransact and End pass errors on.
func TestGetBySession(t *testing.T) {
	before, lease := noon.Add(-time.Minute), Lease{Group: "g", ID: "z", TTL: time.Hour}
	damaged := func(name string) item {
		it := stored(before, before, noon.Add(time.Hour))
		it[name] = dynamo.String("x")
		return it
	}
	for name, c := range map[string]struct {
		held item
		gets []error
		n    int
		err  error
	}{
		"active":         {stored(before, before, noon.Add(time.Millisecond)), nil, 1, nil},
		"ends now":       {stored(before, before, noon), nil, 1, shard.ErrNotFound},
		"ended":          {stored(before, before, time.Time{}), nil, 1, shard.ErrNotFound},
		"none":           {nil, nil, 1, shard.ErrNotFound},
		"damaged start":  {damaged("started_at"), nil, 1, errDamaged},
		"damaged order":  {damaged("renewed_at"), nil, 1, errDamaged},
		"damaged end":    {damaged("ends_at"), nil, 1, errDamaged},
		"throttled once": {stored(before, before, noon.Add(time.Hour)), []error{libtest.Hot(libtest.TableHot)}, 2, nil},
		"not read":       {nil, []error{errDamaged}, 1, errDamaged},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := &oneItem{held: c.held, unget: c.gets}
			one, err := storeOf(db).Get(t.Context(), "g", "z", noon)
			if c.err == errDamaged && (err == nil || errors.Is(err, shard.ErrNotFound)) || c.err != errDamaged && !errors.Is(err, c.err) || db.gets != c.n {
				t.Errorf("%s: %+v, %v after %d reads; want %v after %d", name, one, err, db.gets, c.err, c.n)
			}
			if err == nil && (!one.Started.Equal(before) || !one.Renewed.Equal(before) || one.Group != "g" || one.ID != "z") {
				t.Errorf("%s: %+v", name, one)
			}
			db = &oneItem{held: c.held, unget: c.gets}
			if _, _, err := storeOf(db).PutTransact(t.Context(), lease, noon); (err != nil) != (c.err == errDamaged) {
				t.Errorf("%s: PutTransact: %v", name, err)
			}
		})
	}
	db := &oneItem{Scripted: libtest.Scripted{Updates: []error{errDamaged}}}
	if err := storeOf(db).End(t.Context(), "g", "z", noon); !errors.Is(err, errDamaged) {
		t.Errorf("End: %v", err)
	}
}

// TestBoundsOfLeases checks the bounds of groups, ids and TTLs on both sides.
func TestBoundsOfLeases(t *testing.T) {
	for _, c := range []struct {
		lease Lease
		now   time.Time
		valid bool
	}{
		{Lease{Group: "g", ID: "z", TTL: time.Second}, noon, true}, {Lease{Group: "g", ID: "z", TTL: 720 * time.Hour}, noon, true},
		{Lease{ID: "z", TTL: time.Hour}, noon, false}, {Lease{Group: "g", TTL: time.Hour}, noon, false}, {Lease{Group: "g", ID: "z"}, noon, false},
		{Lease{Group: "g", ID: "z", TTL: time.Second - 1}, noon, false}, {Lease{Group: "g", ID: "z", TTL: 720*time.Hour + 1}, noon, false},
		{Lease{Group: "g", ID: "z", TTL: time.Hour}, time.Time{}, false},
	} {
		s := storeOf(&oneItem{})
		_, put := s.Put(t.Context(), c.lease, c.now)
		_, _, keyed := s.PutTransact(t.Context(), c.lease, c.now)
		if errors.Is(put, shard.ErrMisused) == c.valid || errors.Is(keyed, shard.ErrMisused) == c.valid {
			t.Errorf("%+v: errors %v, %v; want ErrMisused: %t", c.lease, put, keyed, !c.valid)
		}
	}
}
