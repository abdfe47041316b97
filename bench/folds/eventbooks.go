package folds

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// identity is an event's: what is the same event has the same.
type identity struct{ entity, sk string }

// event is what became of one.
type event struct {
	first    map[string]string // numbers of the data that it was put with first
	last     string            // canonical text of the data that it was put with last
	restated bool              // it was put again with other data
}

// identityOf returns whose item it is; ok is false for all but events.
func identityOf(it item) (id identity, ok bool) {
	pk, _ := it[schema.PK].(*types.AttributeValueMemberS)
	sk, _ := it[schema.SK].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return id, false
	}
	key, err := schema.ParseKey(pk.Value)
	if err != nil || key.Base.Type != schema.Entity {
		return id, false
	}
	_, _, err = schema.ParseEventSortKey(sk.Value)
	return identity{key.Base.Name, sk.Value}, err == nil
}

// put books an item that ingest has put, if it is an event. Puts of one event at a
// time have the same data.
func (b *books) put(it item) {
	id, ok := identityOf(it)
	if !ok {
		return
	}
	text := canonical(it["data"])
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events[id]
	if e == nil {
		b.events[id] = &event{first: numbersOf(it["data"]), last: text}
		return
	}
	if e.last != text {
		e.last, e.restated = text, true
	}
}

// sentEvents books a call before it is sent. again is how many of its events had
// been sent in an earlier one.
func (b *books) sentEvents(size, again int, inKeyed bool) {
	b.count(calls, 1)
	b.count(events, size)
	b.count(eventsAgain, again)
	if inKeyed {
		b.count(eventsKeyed, size)
	}
}

// answeredEvents books a call's answer: what was accepted has to be written, and
// what is said not to be written must not be. t has what this call has put; nil
// for a keyed call, which may have been applied before.
func (b *books) answeredEvents(results []eventResult, entities []string, t *tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, result := range results {
		id := identity{entities[i], result.Time + "#" + result.ID}
		switch {
		case result.Status == statusAccepted && b.events[id] == nil:
			b.differ("event %v was accepted and not written", id)
		case result.Status != statusAccepted && t != nil && !unsure(result.Detail) && t.events[id]:
			b.differ("event %v was written and rejected: %s", id, result.Detail)
		}
	}
}
