package throttle_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

const transactionHold = 5 * time.Millisecond

// meanwhile is a bench that calls do once while a transaction holds its items.
type meanwhile struct {
	*bench
	do    func()
	waits []time.Duration
}

// newMeanwhile returns a meanwhile that fails the test if do was not called by its end.
func newMeanwhile(t *testing.T) *meanwhile {
	t.Helper()
	m := &meanwhile{}
	o := roomy
	o.TransactionHold = transactionHold
	o.Sleep = func(_ context.Context, d time.Duration) {
		m.waits = append(m.waits, d)
		do := m.do
		if m.do = nil; do != nil {
			do()
		}
		m.advance(d)
	}
	m.bench = newBench(t, o)
	t.Cleanup(func() {
		if m.do != nil {
			t.Error("a transaction did not wait")
		}
	})
	return m
}

func (b *bench) transact(t testing.TB, token string, items ...values) error {
	t.Helper()
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(token)}
	for _, item := range items {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tableName), Item: item}})
	}
	_, err := b.db.TransactWriteItems(t.Context(), in)
	return err
}

func (b *bench) transactGet(t testing.TB, keys ...values) error {
	t.Helper()
	in := &dynamodb.TransactGetItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: key}})
	}
	_, err := b.db.TransactGetItems(t.Context(), in)
	return err
}

// wantCancelled checks that err cancels a transaction for these reasons.
func wantCancelled(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Errorf("%s: got %v, want a TransactionCanceledException", what, err)
		return
	}
	if diff := cmp.Diff(want, codes(cancelled)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
	if message := "[" + strings.Join(want, ", ") + "]"; !strings.HasSuffix(cancelled.ErrorMessage(), message) {
		t.Errorf("%s: the message is %q, without %s", what, cancelled.ErrorMessage(), message)
	}
}

func wantConflict(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*types.TransactionConflictException](err); !ok || e.ErrorMessage() != "Transaction is ongoing for the item" {
		t.Errorf("%s: got %v, want a TransactionConflictException", what, err)
	}
}

func TestWritesMeetTransaction(t *testing.T) {
	m := newMeanwhile(t)
	name, held := aws.String(tableName), keyOf("held", "1")
	m.do = func() {
		wantConflict(t, "a put", m.put(t, held))
		_, err := m.db.UpdateItem(t.Context(), updateOf("held", "ADD #x :n", values{":n": n("1")}))
		wantConflict(t, "an update", err)
		_, err = m.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: name, Key: held})
		wantConflict(t, "a deletion", err)
		wantCancelled(t, "a transaction", m.transact(t, "other", keyOf("free", "1"), held), "None", "TransactionConflict")
		if err := m.transact(t, "apart", keyOf("held", "2"), keyOf("free", "2")); err != nil {
			t.Errorf("a transaction on other items: %v", err)
		}
	}
	if err := m.transact(t, "first", held, keyOf("held", "3")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{transactionHold, transactionHold}, m.waits); diff != "" {
		t.Errorf("waits: %s", diff)
	}
	if err := m.put(t, held); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
	want := map[string]int64{"PutItem": 1, "UpdateItem": 1, "DeleteItem": 1, "TransactWriteItems": 1}
	for _, o := range m.Stats().Operations {
		if o.Conflicts != want[o.Operation] || o.ThrottledRequests != 0 {
			t.Errorf("%+v: want %d conflicts", o, want[o.Operation])
		}
		delete(want, o.Operation)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v", want)
	}
	// Charged are two applied transactions, one cancelled, three writes in conflict and one
	// applied.
	if got := m.Stats().WriteUnits; got != 4+4+4+3+1 {
		t.Errorf("charged %v units", got)
	}
}

// TestBatchMeetsTransaction checks that items held by a transaction are left unprocessed.
func TestBatchMeetsTransaction(t *testing.T) {
	m := newMeanwhile(t)
	batch := func(items ...values) map[string][]types.WriteRequest {
		t.Helper()
		out, err := m.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: putRequests(items...)})
		if err != nil {
			t.Fatal(err)
		}
		return out.UnprocessedItems
	}
	held, free := keyOf("held", "1"), keyOf("free", "1")
	m.do = func() {
		if diff := cmp.Diff(putRequests(held), batch(held, free), ignoreUnexported); diff != "" {
			t.Errorf("of two items: %s", diff)
		}
		if diff := cmp.Diff(putRequests(held), batch(held), ignoreUnexported); diff != "" {
			t.Errorf("of one: %s", diff)
		}
	}
	if err := m.transact(t, "first", held); err != nil {
		t.Fatal(err)
	}
	if left := batch(held); len(left) != 0 {
		t.Errorf("after the transaction, %v is left", left)
	}
	if o := m.Stats().Operations[0]; o.Operation != "BatchWriteItem" || o.Conflicts != 2 || o.ThrottledItems != 0 || o.WriteUnits != 4 {
		t.Errorf("counted %+v", o)
	}
	if _, ok := m.image(t)["free/1"]; !ok {
		t.Error("the item that was free was not written")
	}
}

// TestReadsMeetTransaction checks that a transaction's hold conflicts only with transactional
// reads.
func TestReadsMeetTransaction(t *testing.T) {
	m := newMeanwhile(t)
	name, held, free := aws.String(tableName), keyOf("held", "1"), keyOf("free", "1")
	m.do = func() {
		if err := m.get(t, "held", "1", true); err != nil {
			t.Errorf("GetItem: %v", err)
		}
		if _, err := m.db.Query(t.Context(), &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"),
			ExpressionAttributeValues: values{":p": s("held")}}); err != nil {
			t.Errorf("Query: %v", err)
		}
		if _, err := m.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: name}); err != nil {
			t.Errorf("Scan: %v", err)
		}
		out, err := m.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{tableName: {Keys: []values{held}}}})
		if err != nil || len(out.UnprocessedKeys) > 0 {
			t.Errorf("BatchGetItem: %v, %v", out, err)
		}
		wantCancelled(t, "TransactGetItems", m.transactGet(t, free, held), "None", "TransactionConflict")
		if err := m.transactGet(t, free); err != nil {
			t.Errorf("TransactGetItems of another item: %v", err)
		}
	}
	if err := m.transact(t, "first", held); err != nil {
		t.Fatal(err)
	}
	if err := m.transactGet(t, held); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
	for _, o := range m.Stats().Operations {
		if conflicts := map[string]int64{"TransactGetItems": 1}[o.Operation]; o.Conflicts != conflicts {
			t.Errorf("%+v: want %d conflicts", o, conflicts)
		}
	}
}

// TestReusedToken checks that a reused token goes to the engine, whatever holds the items.
func TestReusedToken(t *testing.T) {
	m := newMeanwhile(t)
	item := keyOf("held", "1")
	again := func() {
		waits := len(m.waits)
		if err := m.transact(t, "first", item); err != nil {
			t.Errorf("the same token again: %v", err)
		}
		if len(m.waits) != waits {
			t.Error("a transaction with a reused token waited")
		}
	}
	m.do = again
	if err := m.transact(t, "first", item); err != nil {
		t.Fatal(err)
	}
	m.do = again
	if err := m.transact(t, "second", item); err != nil {
		t.Fatal(err)
	}
	again()
	s := m.Stats()
	if s.WriteUnits != 4 || s.ReadUnits != 6 || s.Operations[0].Conflicts != 0 {
		t.Errorf("charged %v and %v units, with %d conflicts", s.WriteUnits, s.ReadUnits, s.Operations[0].Conflicts)
	}
	other := client(t, m.key+"other", m.wire)
	if _, err := other.CreateTable(t.Context(), onDemandTable()); err != nil {
		t.Fatal(err)
	}
	m.bench.db = other
	if err := m.transact(t, "first", item); err != nil || len(m.waits) != 3 {
		t.Errorf("the token in another database: %v, after %d waits", err, len(m.waits))
	}
}

// TestFailedTransactionHolds checks that a transaction whose condition fails holds its items,
// and leaves its token unused.
func TestFailedTransactionHolds(t *testing.T) {
	m := newMeanwhile(t)
	check := func(token string) error {
		_, err := m.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token,
			TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
				TableName: aws.String(tableName), Key: keyOf("held", "1"), ConditionExpression: aws.String("attribute_exists(pk)")}}}})
		return err
	}
	m.do = func() { wantConflict(t, "a put", m.put(t, keyOf("held", "1"))) }
	wantCancelled(t, "a failed condition", check("first"), "ConditionalCheckFailed")
	if err := m.put(t, keyOf("held", "1")); err != nil {
		t.Error(err)
	}
	m.do = func() { wantCancelled(t, "another", check("second"), "TransactionConflict") }
	if err := check("first"); err != nil {
		t.Errorf("the same token, with a condition that holds: %v", err)
	}
}

// pausing calls do while a single write is at the engine.
type pausing struct{ do func() }

func (p *pausing) RoundTrip(req *http.Request) (*http.Response, error) {
	if operation := req.Header.Get("X-Amz-Target"); p.do != nil && (strings.HasSuffix(operation, ".PutItem") || strings.HasSuffix(operation, ".BatchWriteItem")) {
		do := p.do
		p.do = nil
		do()
	}
	return dynamolocal.Transport().RoundTrip(req)
}

// TestTransactionsMeetWrite checks that a write in flight conflicts with a transaction that
// reads, and not with one that writes.
func TestTransactionsMeetWrite(t *testing.T) {
	p := &pausing{}
	o := roomy
	o.TransactionHold, o.Base, o.Sleep = transactionHold, p, func(context.Context, time.Duration) {}
	b := newBench(t, o)
	item := keyOf("a", "1")
	writes := map[string]func() error{
		"PutItem": func() error { return b.put(t, item) },
		"BatchWriteItem": func() error {
			_, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: putRequests(item)})
			return err
		},
	}
	for name, write := range writes {
		p.do = func() {
			wantCancelled(t, name, b.transactGet(t, item, keyOf("b", "1")), "TransactionConflict", "None")
			if err := b.transact(t, "during "+name, item); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			b.advance(transactionHold)
		}
		if err := write(); err != nil || p.do != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := b.transactGet(t, item); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// TestNoHold checks that nothing conflicts if transactions take no time.
func TestNoHold(t *testing.T) {
	p := &pausing{}
	o := roomy
	o.Base, o.Sleep = p, func(context.Context, time.Duration) { t.Error("a transaction waits") }
	b := newBench(t, o)
	item := keyOf("a", "1")
	p.do = func() {
		if err := errors.Join(b.transactGet(t, item), b.transact(t, "one", item), b.transact(t, "two", item), b.put(t, item)); err != nil {
			t.Error(err)
		}
	}
	if err := b.put(t, item); err != nil || p.do != nil {
		t.Errorf("the write: %v", err)
	}
}
