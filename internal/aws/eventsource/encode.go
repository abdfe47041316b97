package eventsource

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lambdaRecord is a record as Lambda's event holds it. What GetRecords writes in the same way is
// in the Rest.
type lambdaRecord struct {
	UserIdentity *identity `json:"userIdentity,omitzero"`
	Change       change    `json:"dynamodb"`
	SourceARN    string    `json:"eventSourceARN"`
	//lint:ignore SA5008 the option is go-json-experiment's
	Rest jsontext.Value `json:",embed"`
}

type change struct {
	Created jsontext.Value `json:"ApproximateCreationDateTime"` // Unix seconds
	//lint:ignore SA5008 the option is go-json-experiment's
	Rest jsontext.Value `json:",embed"`
}

// identity is of the caller that changed the item. GetRecords capitalizes its members.
type identity struct {
	Type      string `json:"type,case:ignore"`
	Principal string `json:"principalId,case:ignore"`
}

// encodeRecord returns a record of GetRecords as Lambda's event holds it, with this time. One that
// is not as GetRecords writes it stays as it is, for the handler to report.
func encodeRecord(raw []byte, created time.Time, streamARN string) []byte {
	var r lambdaRecord
	anyText := jsontext.AllowInvalidUTF8(true)
	if err := json.Unmarshal(raw, &r, anyText); err != nil {
		return bytes.Clone(raw)
	}
	r.Change.Created, r.SourceARN = strconv.AppendInt(nil, created.Unix(), 10), streamARN
	text, err := json.Marshal(&r, anyText)
	if err != nil {
		return bytes.Clone(raw)
	}
	return text
}
