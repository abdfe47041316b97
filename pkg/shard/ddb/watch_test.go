package ddb

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// listener keeps what it is told, and does something when it hears of a refusal.
type listener struct {
	requests []Request
	attempts []Attempt
	act      func()
}

func (l *listener) Requested(r Request) { l.requests = append(l.requests, r) }

func (l *listener) Attempted(_ context.Context, a Attempt) {
	l.attempts = append(l.attempts, a)
	if a.Outcome != Taken && l.act != nil {
		l.act()
	}
}

// outcomes lists what became of a key's attempts, in order.
func (l *listener) outcomes(key string) (list []Outcome) {
	for _, a := range l.attempts {
		if a.Key == key {
			list = append(list, a.Outcome)
		}
	}
	return list
}

// scripted is a client whose writes end as it says, one after the other, and well when
// there is nothing left to say.
type scripted struct {
	transactions []error
	updates      []error
	probe        error
	probes       int
}

func next(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (s *scripted) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, next(&s.transactions)
}

func (s *scripted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := next(&s.updates); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{Attributes: item{"used": number(1)}}, nil
}

func (s *scripted) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (s *scripted) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.probes++
	return nil, s.probe
}

func canceledFor(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return e
}

func throttledFor(reason string) error {
	return &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: &reason}}}
}

const partitionFull = "TableWriteKeyRangeThroughputExceeded"

// emptyMap is a view of a shard map without entries.
func emptyMap() *Map { return NewMap(newFakeMap(10, 0, 0), "m") }

// TestAKeyedCallsConflictsAreTold: of each action that met another transaction, by its own
// write shard; not of the others, and of all of them when the call is through.
func TestAKeyedCallsConflictsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &scripted{transactions: []error{
			canceledFor("TransactionConflict", "None", "None"),
			canceledFor("None", "None", "TransactionConflict"), // the marker's own
			canceledFor("TransactionConflict", "TransactionConflict", "None"),
		}}
		shards, w := emptyMap(), &listener{}
		c, now := NewCounterWriter(nil, "t", shards, w), time.Now()
		_, err := NewOnce(client, "t", shards, w).Do(t.Context(), Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
			return []types.TransactWriteItem{c.AddTransact(ctx, "a", 1, now), c.AddTransact(ctx, "b", 1, now)}, nil
		})
		if err != nil || len(w.requests) != 2 {
			t.Fatalf("%v, %d requests", err, len(w.requests))
		}
		for key, want := range map[string][]Outcome{"C#a": {Conflicted, Conflicted, Taken}, "C#b": {Conflicted, Taken}} {
			if got := w.outcomes(key); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
		for _, a := range w.attempts {
			if a.Request != w.requests[0].ID {
				t.Errorf("an attempt of no request: %+v", a)
			}
		}
	})
}

// TestARepeatedCallIsNoAttempt: its writes were not tried.
func TestARepeatedCallIsNoAttempt(t *testing.T) {
	found := canceledFor("None", "ConditionalCheckFailed").(*types.TransactionCanceledException)
	found.CancellationReasons[1].Item = item{"digest": &types.AttributeValueMemberB{Value: []byte("d")}, "answer": &types.AttributeValueMemberB{Value: []byte("a")}}
	shards, w := emptyMap(), &listener{}
	c, now := NewCounterWriter(nil, "t", shards, w), time.Unix(1_800_000_000, 0)
	before, err := NewOnce(&scripted{transactions: []error{found}}, "t", shards, w).Do(t.Context(), Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
		return []types.TransactWriteItem{c.AddTransact(ctx, "a", 1, now)}, nil
	})
	if err != nil || string(before) != "a" || len(w.attempts) != 0 {
		t.Errorf("%q, %v, told of %+v", before, err, w.attempts)
	}
}

// TestTakingOverRoomIsUntold: more write shards would make more of that. A hit that takes none
// over is told of.
func TestTakingOverRoomIsUntold(t *testing.T) {
	shards := emptyMap()
	l := NewLimiter(nil, "t", shards, nil, LimiterOptions{})
	now := time.Unix(1_800_000_000, 0)
	h, err := l.hit(t.Context(), Limit{Key: "k", Max: 100, Window: time.Minute}, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		actions []types.TransactWriteItem
		code    string
		want    []Outcome
	}{
		"taking over":            {h.exchange(3, 0, 5), "TransactionConflict", nil},
		"taking over, throttled": {h.exchange(3, 0, 5), "ThrottlingError", nil},
		"a hit, throttled":       {[]types.TransactWriteItem{{Update: h.update(0)}}, "ThrottlingError", []Outcome{OverLimit}},
		"a hit":                  {[]types.TransactWriteItem{{Update: h.update(0)}}, "TransactionConflict", []Outcome{Conflicted}},
	} {
		w := &listener{}
		told := newTransactions(&scripted{probe: throttledFor(partitionFull)}, "t", shards, w)
		loads, _ := told.loads(t.Context(), c.actions, 1, now)
		told.told(t.Context(), loads, canceledFor(c.code, "None"))
		if got := w.outcomes("R#k"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestProbesAreRare: at most one a second and key, whose outcome stands for all of the
// key's throttles of that second.
func TestProbesAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for probe, want := range map[error]bool{throttledFor(partitionFull): true, throttledFor("TableWriteAccountLimitExceeded"): false, nil: false} {
			client, w, shards := &scripted{probe: probe}, &listener{}, emptyMap()
			told := newTransactions(client, "t", shards, w)
			c := NewCounterWriter(nil, "t", shards, nil)
			for range 20 { // in two seconds
				writes := []types.TransactWriteItem{c.AddTransact(t.Context(), "a", 1, time.Now()), c.AddTransact(t.Context(), "b", 1, time.Now())}
				loads, _ := told.loads(t.Context(), writes, 1, time.Now())
				told.told(t.Context(), loads, canceledFor("ThrottlingError", "ProvisionedThroughputExceeded", "None"))
				time.Sleep(100 * time.Millisecond)
			}
			if client.probes != 2*2 {
				t.Errorf("%v: %d probes in two seconds for two keys", probe, client.probes)
			}
			if got := len(w.outcomes("C#a")); got != 20 && want || got != 0 && !want {
				t.Errorf("%v: told of %d of 20 throttles", probe, got)
			}
		}
	})
}

// TestProbesAreFew: of more keys a second than that nothing is learned.
func TestProbesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &scripted{probe: throttledFor(partitionFull)}
		told := newTransactions(client, "t", emptyMap(), &listener{})
		for i := range maxProbed + 10 {
			told.full(t.Context(), load{Attempt: Attempt{Key: string(rune(i))}, probe: item{}})
		}
		if client.probes != maxProbed || len(told.probed) != maxProbed {
			t.Errorf("%d probes, %d keys", client.probes, len(told.probed))
		}
		time.Sleep(probeAge)
		if !told.full(t.Context(), load{Attempt: Attempt{Key: "later"}, probe: item{}}) || len(told.probed) != 1 {
			t.Errorf("a second later there are %d keys", len(told.probed))
		}
	})
}

// TestACounterTellsItsFate: also of a conflict, and of what is no fault of its partition
// nothing.
func TestACounterTellsItsFate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &scripted{updates: []error{
			throttledFor(partitionFull), &types.TransactionConflictException{}, throttledFor("TableWriteAccountLimitExceeded"), &types.InternalServerError{},
		}}
		w := &listener{}
		if err := NewCounterWriter(client, "t", emptyMap(), w).Add(t.Context(), "a", 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := w.outcomes("C#a"); !slices.Equal(got, []Outcome{OverLimit, Conflicted, Taken}) || len(w.requests) != 1 {
			t.Errorf("%v, %d requests", got, len(w.requests))
		}
	})
}

// TestAWriteGoesOnByWhatItsWatcherAdopted: the next attempt of the same call, by the count
// and version of then.
func TestAWriteGoesOnByWhatItsWatcherAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shards := emptyMap()
		now := time.Now()
		if _, err := shards.Lookup(t.Context(), "C#a", now); err != nil {
			t.Fatal(err)
		}
		grow := func(key string) func() {
			return func() {
				e := Entry{Key: key, Version: 7, Max: 64}
				e.History = shard.History{{At: now, Count: 64}}
				shards.adopt(e, true, now)
			}
		}
		full := func() []error { return []error{throttledFor(partitionFull), throttledFor(partitionFull)} }
		w := &listener{act: grow("C#a")}
		if err := NewCounterWriter(&scripted{updates: full()}, "t", shards, w).Add(t.Context(), "a", 1, now); err != nil {
			t.Fatal(err)
		}
		limited := &listener{act: grow("R#k")}
		l := NewLimiter(&scripted{updates: full()}, "t", shards, limited, LimiterOptions{})
		if _, err := l.Hit(t.Context(), Limit{Key: "k", Max: 1000, Window: 720 * time.Hour}, now); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*listener{w, limited} {
			if first, last := w.attempts[0], w.attempts[len(w.attempts)-1]; first.Entry.Version != 0 || last.Entry.Version != 7 || last.Shard == 0 && w.attempts[1].Shard == 0 {
				t.Errorf("told of %+v", w.attempts)
			}
		}
	})
}
