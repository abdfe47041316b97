package eventsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestRecordsAreDeliveredOnceInOrder checks this for records from before and after the mapping's start, and that the
// mapping leaves no goroutine.
func TestRecordsAreDeliveredOnceInOrder(t *testing.T) {
	h := &recorder{}
	b := newBench(t, h)
	leak := goleak.IgnoreCurrent()
	b.options.BatchSize = 7
	want := b.put(t, 0, 100)
	m, stop := b.run(t)
	want = append(want, b.put(t, 100, 150)...)
	eventually(t, "all records", func() bool { return len(h.items()) >= len(want) })
	stop()
	if err := m.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, h.items()); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
	if got := slices.MaxFunc(h.batches(), func(a, b []string) int { return len(a) - len(b) }); len(got) > 7 {
		t.Errorf("a batch had %d records, want at most 7", len(got))
	}
	closeConnections()
	leaked := goleak.Find(leak)
	for end := time.Now().Add(10 * time.Second); leaked != nil && time.Now().Before(end); leaked = goleak.Find(leak) {
		closeConnections() // closes connections that were in use at the last call
	}
	if leaked != nil {
		t.Error(leaked)
	}
}

// TestBisectionIsolatesPoisonRecord checks the invocations until a record that always fails is discarded alone.
func TestBisectionIsolatesPoisonRecord(t *testing.T) {
	h := &recorder{reply: func(e events.DynamoDBTimeWindowEvent) (string, error) {
		if slices.Contains(sortKeys(e), "0005") {
			return "", errors.New("poison")
		}
		return "", nil
	}}
	b := newBench(t, h)
	b.put(t, 0, 8)
	m := b.mapping(t)
	require.NoError(t, m.Drain(t.Context()))
	want := [][]string{
		{"0000", "0001", "0002", "0003", "0004", "0005", "0006", "0007"},
		{"0000", "0001", "0002", "0003"},
		{"0004", "0005", "0006", "0007"}, {"0004", "0005"}, {"0004"},
		{"0005"}, {"0005"}, {"0005"}, // splits are no attempts
		{"0006", "0007"},
	}
	if diff := cmp.Diff(want, h.batches()); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	var logged struct {
		Mapping   string
		Sequences []string `json:"sequence_numbers"`
		Error     string
	}
	sequence := h.events()[5].Records[0].Change.SequenceNumber
	if err := json.Unmarshal(b.log.Bytes(), &logged); err != nil || logged.Mapping != "test" || logged.Error != "poison" || !slices.Equal(logged.Sequences, []string{sequence}) || m.GivenUp() != 1 {
		t.Errorf("the log has %s, %v; want the record %s of %d", b.log.Bytes(), err, sequence, m.GivenUp())
	}
}

// TestFailedRecordIsRetried checks that retries have the same record and time.
func TestFailedRecordIsRetried(t *testing.T) {
	failing := 2
	h := &recorder{}
	h.reply = func(events.DynamoDBTimeWindowEvent) (string, error) {
		if failing--; failing >= 0 {
			panic("not yet")
		}
		return "", nil
	}
	b := newBench(t, h)
	keys := b.put(t, 0, 1)
	b.drain(t)
	if diff := cmp.Diff([][]string{keys, keys, keys}, h.batches()); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	first, last := h.events()[0], h.events()[2]
	if diff := cmp.Diff(first.Records[0].Change.ApproximateCreationDateTime, last.Records[0].Change.ApproximateCreationDateTime); diff != "" {
		t.Errorf("creation time (-first attempt +retry):\n%s", diff)
	}
}

// TestBatchItemFailureSetsCheckpoint checks that a retry begins at the first failed record.
func TestBatchItemFailureSetsCheckpoint(t *testing.T) {
	again := true
	h := &recorder{}
	h.reply = func(e events.DynamoDBTimeWindowEvent) (string, error) {
		at := slices.Index(sortKeys(e), "0003")
		if at < 0 || !again {
			return `{"batchItemFailures":[]}`, nil
		}
		again = at > 0
		id := e.Records[at].Change.SequenceNumber
		return `{"batchItemFailures":[{"itemIdentifier":"` + id + `"}]}`, nil
	}
	b := newBench(t, h)
	keys := b.put(t, 0, 6)
	b.drain(t)
	want := [][]string{keys, keys[3:], keys[3:4], keys[4:]}
	if diff := cmp.Diff(want, h.batches()); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

// TestResumesAfterAbruptStop checks that a mapping resumes after its last complete batch, with that window and its state.
func TestResumesAfterAbruptStop(t *testing.T) {
	ctx, kill := context.WithCancel(t.Context())
	h := &recorder{}
	h.reply = func(e events.DynamoDBTimeWindowEvent) (string, error) {
		if slices.Contains(sortKeys(e), "0007") {
			kill()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return `{"state":{"last":"` + e.Records[len(e.Records)-1].Change.Keys["sk"].String() + `"}}`, nil
	}
	b := newBench(t, h)
	b.options.BatchSize, b.options.TumblingWindow = 5, 900*time.Second
	now := time.Now()
	if end := now.Truncate(b.options.TumblingWindow).Add(b.options.TumblingWindow); end.Sub(now) < 10*time.Second {
		time.Sleep(end.Sub(now)) // so that all writes are in one window
	}
	keys := b.put(t, 0, 12)
	require.NoError(t, b.mapping(t).Run(ctx))

	next := &recorder{reply: func(events.DynamoDBTimeWindowEvent) (string, error) { return `{"state":{}}`, nil }}
	b.options.Handler = next
	b.drain(t)
	if diff := cmp.Diff(keys[5:], next.items()); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
	if first := next.events()[0]; first.State["last"] != "0004" || first.Window != h.events()[0].Window {
		t.Errorf("resumed the window %v with state %v, want %v with 0004", first.Window, first.State, h.events()[0].Window)
	}
	empty := &recorder{}
	b.options.Handler = empty
	b.drain(t)
	if got := empty.events(); len(got) != 0 {
		t.Errorf("a drained stream delivered %+v", got)
	}
}

// stopped is a handler that stops its mapping, and then checks that its own context is not cancelled.
type stopped struct {
	stop  func()
	after error
}

func (s *stopped) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	s.stop()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	s.after = ctx.Err()
	return []byte(`{"batchItemFailures":[]}`), s.after
}

// TestInFlightInvocationsFinishOnShutdown checks that an invocation in flight is not cancelled, and that its records
// are not redelivered.
func TestInFlightInvocationsFinishOnShutdown(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	h := &stopped{stop: stop}
	b := newBench(t, h)
	b.put(t, 0, 3)
	if err := b.mapping(t).Run(ctx); err != nil || h.after != nil {
		t.Fatalf("%v; the handler's context: %v", err, h.after)
	}
	next := &recorder{}
	b.options.Handler = next
	b.drain(t)
	if got := next.items(); len(got) != 0 {
		t.Errorf("%v were redelivered", got)
	}
}
