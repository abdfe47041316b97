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

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
)

const transactionHold = 5 * time.Millisecond

// meanwhile is a bench that calls do while the next transaction holds its items.
type meanwhile struct {
	*bench
	do    func()
	waits []time.Duration
}

// newMeanwhile returns a meanwhile that fails the test if do was not called in it.
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

// wantCancelled checks that err cancels a transaction for these reasons.
func wantCancelled(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Errorf("%s: got %v, want a TransactionCanceledException", what, err)
		return
	}
	wantEqual(t, what, want, codes(cancelled))
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

// TestWritesMeetTransaction checks that writes of held items are conflicts, which cost what applied writes do.
func TestWritesMeetTransaction(t *testing.T) {
	m := newMeanwhile(t)
	held := keyOf("held", "1")
	m.do = func() {
		wantConflict(t, "a put", m.put(t, held))
		wantConflict(t, "an update", m.update(t, updateOf("held", "ADD #x :n", values{":n": n("1")})))
		wantConflict(t, "a deletion", m.remove(t, "held", "1"))
		wantCancelled(t, "a transaction", m.transact(t, "other", keyOf("free", "1"), held), "None", "TransactionConflict")
		if err := m.transact(t, "apart", keyOf("held", "2"), keyOf("free", "2")); err != nil {
			t.Errorf("a transaction on other items: %v", err)
		}
	}
	require.NoError(t, m.transact(t, "first", held, keyOf("held", "3")))
	wantEqual(t, "waits", []time.Duration{transactionHold, transactionHold}, m.waits)
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
		t.Errorf("conflicts are not counted: %v", want)
	}
	// Two transactions and one write are applied; one transaction and three writes are conflicts.
	if got, want := m.Stats().WriteUnits, 4.0+4+1+4+3; got != want {
		t.Errorf("charged %v units, want %v", got, want)
	}
}

// TestBatchMeetsTransaction checks that items held by a transaction are left unprocessed.
func TestBatchMeetsTransaction(t *testing.T) {
	m := newMeanwhile(t)
	batch := func(items ...values) map[string][]types.WriteRequest {
		t.Helper()
		left, err := m.batchWrite(t, putRequests(items...))
		require.NoError(t, err)
		return left
	}
	held, free := keyOf("held", "1"), keyOf("free", "1")
	m.do = func() {
		wantEqual(t, "of two items", putRequests(held), batch(held, free), ignoreUnexported)
		wantEqual(t, "of one", putRequests(held), batch(held), ignoreUnexported)
	}
	require.NoError(t, m.transact(t, "first", held))
	if left := batch(held); len(left) != 0 {
		t.Errorf("after the transaction, %v is unprocessed", left)
	}
	if o := m.Stats().Operations[0]; o.Operation != "BatchWriteItem" || o.Conflicts != 2 || o.ThrottledItems != 0 || o.WriteUnits != 4 {
		t.Errorf("statistics: %+v, want 2 conflicts and 4 write units", o)
	}
	if _, ok := m.image(t)["free/1"]; !ok {
		t.Error("the item that was free was not written")
	}
}

// TestReadsMeetTransaction checks that a transaction's hold conflicts only with transactional reads.
func TestReadsMeetTransaction(t *testing.T) {
	m := newMeanwhile(t)
	name, held, free := aws.String(tableName), keyOf("held", "1"), keyOf("free", "1")
	m.do = func() {
		for _, in := range []any{
			&dynamodb.GetItemInput{TableName: name, Key: held, ConsistentRead: aws.Bool(true)},
			&dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": s("held")}},
			&dynamodb.ScanInput{TableName: name},
		} {
			if err := m.send(t, in); err != nil {
				t.Errorf("%s: %v", operationOf(in), err)
			}
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
	require.NoError(t, m.transact(t, "first", held))
	if err := m.transactGet(t, held); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
	for _, o := range m.Stats().Operations {
		if conflicts := map[string]int64{"TransactGetItems": 1}[o.Operation]; o.Conflicts != conflicts {
			t.Errorf("%+v: want %d conflicts", o, conflicts)
		}
	}
}

// TestReusedToken checks that a transaction with a known token is sent to the engine at once, even if its items are held.
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
	require.NoError(t, m.transact(t, "first", item))
	m.do = again
	require.NoError(t, m.transact(t, "second", item))
	again()
	s := m.Stats()
	if s.WriteUnits != 4 || s.ReadUnits != 6 || s.Operations[0].Conflicts != 0 {
		t.Errorf("charged %v write and %v read units, with %d conflicts; want 4, 6 and 0", s.WriteUnits, s.ReadUnits, s.Operations[0].Conflicts)
	}
	other := client(t, m.key+"other", m.wire)
	_, err := other.CreateTable(t.Context(), onDemandTable())
	require.NoError(t, err)
	m.bench.db = other
	if err := m.transact(t, "first", item); err != nil || len(m.waits) != 3 {
		t.Errorf("the token in another database: %v, after %d waits, want 3", err, len(m.waits))
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

// pausing calls do while the next PutItem or BatchWriteItem is on its way to the engine.
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
		"PutItem":        func() error { return b.put(t, item) },
		"BatchWriteItem": func() error { return errorOf(b.batchWrite(t, putRequests(item))) },
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
