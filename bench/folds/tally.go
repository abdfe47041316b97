package folds

import (
	"context"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// tally is what one call of the API did to the tables, as its clients saw it.
type tally struct {
	mu           sync.Mutex
	updates      map[string]*outcome // of counters
	events       map[identity]bool   // that were put
	transactions int                 // that were applied
}

// outcome is what happened to one counter.
type outcome struct {
	applied int   // updates
	lost    int   // of these, without an answer
	sum     int64 // that they added
}

type tallyKey struct{}

// withTally has the calls that are made in ctx counted.
func withTally(ctx context.Context, t *tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// tallyIn returns the tally of ctx; a new one that nobody reads if it has none.
func tallyIn(ctx context.Context) *tally {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		return t
	}
	return newTally()
}

func newTally() *tally {
	return &tally{updates: map[string]*outcome{}, events: map[identity]bool{}}
}

func (t *tally) update(in *dynamodb.UpdateItemInput, lost bool) {
	delta, ok := in.ExpressionAttributeValues[":delta"].(*types.AttributeValueMemberN)
	if !ok {
		return // no counter's
	}
	n, err := strconv.ParseInt(delta.Value, 10, 64)
	if err != nil {
		panic("an update adds " + delta.Value)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.of(counterOf(in.Key))
	o.applied++
	o.sum += n
	if lost {
		o.lost++
	}
}

func (t *tally) put(it item) {
	if id, ok := identityOf(it); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.events[id] = true
	}
}

func (t *tally) transaction() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.transactions++
}

// of returns a counter's outcome. The caller holds mu, or is alone.
func (t *tally) of(counter string) *outcome {
	o := t.updates[counter]
	if o == nil {
		o = &outcome{}
		t.updates[counter] = o
	}
	return o
}
