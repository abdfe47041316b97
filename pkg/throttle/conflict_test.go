package throttle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
		wantCancelled(t, "a transaction", m.transact(t, keyOf("free", "1"), held), "None", "TransactionConflict")
		if err := m.transact(t, keyOf("held", "2"), keyOf("free", "2")); err != nil {
			t.Errorf("a transaction on other items: %v", err)
		}
	}
	require.NoError(t, m.transact(t, held, keyOf("held", "3")))
	wantEqual(t, "waits", []time.Duration{transactionHold, transactionHold}, m.waits)
	if err := m.put(t, held); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
	// Two transactions and one write are applied; one transaction and three writes are conflicts.
	if got, want := m.Stats(), 4.0+4+1+4+3; got.WriteUnits != want || got.Throttled != 0 {
		t.Errorf("charged %v units with %d throttles, want %v and 0", got.WriteUnits, got.Throttled, want)
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
	require.NoError(t, m.transact(t, held))
	if left := batch(held); len(left) != 0 {
		t.Errorf("after the transaction, %v is unprocessed", left)
	}
	if s := m.Stats(); s.WriteUnits != 2+4 || s.Throttled != 0 {
		t.Errorf("statistics: %+v, want 2 units of the transaction and 4 of two conflicts and two writes", s)
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
	require.NoError(t, m.transact(t, held))
	if err := m.transactGet(t, held); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
}

// TestFailedTransactionHolds checks that a transaction whose condition fails holds its items.
func TestFailedTransactionHolds(t *testing.T) {
	m := newMeanwhile(t)
	m.do = func() { wantConflict(t, "a put", m.put(t, keyOf("held", "1"))) }
	_, err := m.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String(tableName), Key: keyOf("held", "1"), ConditionExpression: aws.String("attribute_exists(pk)")}}}})
	wantCancelled(t, "a failed condition", err, "ConditionalCheckFailed")
	if err := m.put(t, keyOf("held", "1")); err != nil {
		t.Error(err)
	}
}
