package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/document"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

var epoch = time.Unix(0, 0)

// identify returns the event with its identity completed and its data parsed. Its time may be up to ahead later than
// now. The fault's location is relative to the event.
func (e newEvent) identify(now time.Time, ahead time.Duration) (events.Event, *huma.ErrorDetail) {
	out := events.Event{Entity: string(e.Entity), ID: string(e.ID)}
	t, fault := e.time(now)
	if fault != nil {
		return out, fault
	}
	out.Time = t.UTC().Truncate(time.Millisecond)
	switch {
	case out.Time.Before(epoch):
		return out, &huma.ErrorDetail{Location: e.timeField(), Message: "its time is before 1970", Value: httpapi.FormatTime(out.Time)}
	case out.Time.After(now.Add(ahead)):
		return out, &huma.ErrorDetail{Location: e.timeField(), Message: fmt.Sprintf("its time is more than %v ahead", ahead), Value: httpapi.FormatTime(out.Time)}
	case out.ID == "":
		out.ID = ulid.MustNew(ulid.Timestamp(out.Time), ulid.DefaultEntropy()).String()
	}
	if out.Data, fault = parseData(e.Data.RawMessage); fault != nil {
		return out, fault
	}
	return out, nil
}

// timeField returns the name of the field that the event's time comes from.
func (e newEvent) timeField() string {
	if e.Time == nil && e.ID != "" {
		return "id"
	}
	return "time"
}

// time returns the given time, else the time in the id, else now.
func (e newEvent) time(now time.Time) (time.Time, *huma.ErrorDetail) {
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

// maxData leaves room in an item for the keys.
const maxData = dynamo.MaxItem - 4*1024

func parseData(text json.RawMessage) (document.Object, *huma.ErrorDetail) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	data, err := document.Parse(text)
	if err != nil {
		at := "data"
		if e, ok := errors.AsType[*document.Error](err); ok {
			if e.Path != "" {
				at += "." + e.Path
			}
			return nil, &huma.ErrorDetail{Location: at, Message: e.Reason, Value: e.Value}
		}
		return nil, &huma.ErrorDetail{Location: at, Message: err.Error()}
	}
	if size := dynamo.Size(data); size > maxData {
		return nil, &huma.ErrorDetail{Location: "data", Message: "it is larger than DynamoDB's 400 KB an item", Value: size}
	}
	return data, nil
}
