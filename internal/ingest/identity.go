package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

var epoch = time.Unix(0, 0)

// parse returns the event with its id, time and data, or the fault of an invalid field. The time may be up to ahead
// later than now. The fault's location is relative to the event.
func (e newEvent) parse(now time.Time, ahead time.Duration) (events.Event, *huma.ErrorDetail) {
	out := events.Event{Entity: string(e.Entity), ID: string(e.ID), New: e.ID == ""}
	t, fault := e.timeOrNow(now)
	if fault != nil {
		return out, fault
	}
	out.Time = t.UTC().Truncate(time.Millisecond)
	switch {
	case out.Time.Before(epoch):
		return out, &huma.ErrorDetail{Location: e.timeField(), Message: "the event's time is before 1970", Value: httpapi.FormatTime(out.Time)}
	case out.Time.After(now.Add(ahead)):
		return out, &huma.ErrorDetail{Location: e.timeField(), Message: fmt.Sprintf("the event's time is more than %v in the future", ahead), Value: httpapi.FormatTime(out.Time)}
	case out.ID == "":
		out.ID = ulid.MustNew(ulid.Timestamp(out.Time), ulid.DefaultEntropy()).String()
	}
	out.Data, fault = parseData(e.Data.RawMessage)
	return out, fault
}

// timeField returns the field that the event's time comes from: time, or id if the event has no time.
func (e newEvent) timeField() string {
	if e.Time == nil {
		return "id"
	}
	return "time"
}

// timeOrNow returns the event's time, or that in its id, or now without an id. An id that is no ULID needs a time.
func (e newEvent) timeOrNow(now time.Time) (time.Time, *huma.ErrorDetail) {
	if e.Time != nil {
		return e.Time.Time, nil
	}
	if e.ID == "" {
		return now, nil
	}
	id, err := ulid.ParseStrict(string(e.ID))
	if err != nil {
		return now, &huma.ErrorDetail{Location: "time", Message: "an event whose id is not a ULID needs a time"}
	}
	return id.Timestamp(), nil
}

// maxData bounds the bytes of an item's data, so that its keys fit, too.
const maxData = dynamo.MaxItem - 4*1024

// parseData parses the JSON of an item's data; nil for none. The fault's location begins with data.
func parseData(text json.RawMessage) (httpapi.Document, *huma.ErrorDetail) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	data, err := httpapi.ParseDocument(text)
	if err != nil {
		e, _ := errors.AsType[*httpapi.DocumentError](err) // as all errors of ParseDocument
		location := "data"
		if e.Path != "" {
			location += "." + e.Path
		}
		return nil, &huma.ErrorDetail{Location: location, Message: e.Reason, Value: e.Value}
	}
	if size := dynamo.Size(data); size > maxData {
		return nil, &huma.ErrorDetail{Location: "data", Message: fmt.Sprintf("its size in DynamoDB is more than %d KB, so it does not fit in an item with its keys", maxData/1024), Value: size}
	}
	return data, nil
}
