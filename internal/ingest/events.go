package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type newEvent struct {
	Entity httpapi.Name   `json:"entity" example:"sensor-1"`
	ID     httpapi.Name   `json:"id,omitempty" example:"r-1" doc:"Default: a ULID with the event's time"`
	Time   *httpapi.Time  `json:"time,omitempty" doc:"RFC 3339, kept to the millisecond, at most 2 s ahead, or what the deployment sets. Default: the time in the id, which must be a ULID then; without an id now"`
	Data   httpapi.Object `json:"data,omitempty" example:"{\"temperature\":21.5}" doc:"Numbers keep all digits, up to 38"`
}

type eventsInput = bodyInput[eventsInputBody]

type eventsInputBody struct {
	Events []newEvent `json:"events" minItems:"1" maxItems:"500" doc:"At most 99 with an Idempotency-Key"`
}

type eventResult struct {
	ID     string `json:"id" doc:"The given id, or the generated one"`
	Time   string `json:"time" format:"date-time" doc:"As stored: in UTC, to the millisecond"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty" doc:"Why it was rejected"`
}

type eventsAnswer struct {
	Counts
	Results []eventResult `json:"results" doc:"One for each item, in their order"`
}

type eventsOutput struct{ Body eventsAnswer }

// putEvents writes the events. Each has its own outcome, except in a keyed call.
func (s *Service) putEvents(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
	now := s.now()
	events, err := parseEvents(in.Body.Events, now, s.changer.Options().EventAhead)
	if err != nil {
		return nil, err
	}
	if in.keyed() {
		return s.putOnce(ctx, in, events, now)
	}
	outcomes := s.events.Put(ctx, events, now)
	answer := answerOfEvents(events, outcomes)
	if answer.Accepted == 0 {
		return nil, noneAccepted(ctx, outcomes)
	}
	return &eventsOutput{answer}, nil
}

// answerOfEvents returns a result for each event, by its error.
func answerOfEvents(list []events.Event, outcomes []error) eventsAnswer {
	answer := eventsAnswer{Results: make([]eventResult, len(list))}
	for i, ev := range list {
		status, detail := answer.countItem(outcomes[i])
		answer.Results[i] = eventResult{ev.ID, httpapi.FormatTime(ev.Time), status, detail}
	}
	return answer
}

// putOnce writes the events of a keyed call in one transaction.
func (s *Service) putOnce(ctx context.Context, in *eventsInput, list []events.Event, now time.Time) (*eventsOutput, error) {
	if n := len(list); n > maxKeyed {
		return nil, tooManyKeyed(n, "events")
	}
	if size := itemsSize(list); size > maxTransaction {
		return nil, httpapi.InvalidAt("body.events", "a call with an Idempotency-Key takes at most 3.9 MB of items", size)
	}
	answer, err := applyOnce(ctx, s, &in.CallKey, now, func(ctx context.Context) (writes []shardmap.Write, answer eventsAnswer, err error) {
		for _, ev := range lastOfEach(list) {
			write, err := s.events.PutTransact(ctx, ev, now)
			if err != nil {
				return nil, answer, err
			}
			writes = append(writes, write)
		}
		return writes, answerOfEvents(list, make([]error, len(list))), nil
	})
	return &eventsOutput{answer}, err
}

// maxTransaction bounds the bytes of a transaction's items, below DynamoDB's 4 MB.
const maxTransaction = 3_900_000

// keySize is an upper bound for the bytes of an event's keys and attribute names.
const keySize = 2*httpapi.MaxName + 100

// itemsSize returns an upper bound for the bytes of the events' items.
func itemsSize(list []events.Event) int {
	size := 0
	for _, ev := range list {
		size += keySize + dynamo.Size(ev.Data)
	}
	return size
}

// lastOfEach returns the last event of each entity, id and time, since a transaction allows one action for each item.
func lastOfEach(list []events.Event) []events.Event {
	type identity struct {
		entity, id string
		time       int64
	}
	var kept []events.Event
	index := map[identity]int{}
	for _, ev := range list {
		key := identity{ev.Entity, ev.ID, ev.Time.UnixMilli()}
		if earlier, repeated := index[key]; repeated {
			kept[earlier] = ev
			continue
		}
		index[key] = len(kept)
		kept = append(kept, ev)
	}
	return kept
}

// parseEvents returns the events of a call with their ids and times. Its error lists all invalid fields.
func parseEvents(in []newEvent, now time.Time, ahead time.Duration) ([]events.Event, error) {
	list := make([]events.Event, len(in))
	var faults []error
	for i, ev := range in {
		var fault *huma.ErrorDetail
		if list[i], fault = ev.parse(now, ahead); fault != nil {
			fault.Location = fmt.Sprintf("body.events[%d].%s", i, fault.Location)
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return nil, httpapi.Invalid(faults...)
	}
	return list, nil
}
