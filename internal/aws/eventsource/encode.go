package eventsource

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lambdaRecord is a record in Lambda's event. Rest has the fields that GetRecords writes in the same form.
type lambdaRecord struct {
	UserIdentity *identity      `json:"userIdentity,omitzero"`
	Change       change         `json:"dynamodb"`
	SourceARN    string         `json:"eventSourceARN"`
	Rest         jsontext.Value `json:",embed"`
}

type change struct {
	Created jsontext.Value `json:"ApproximateCreationDateTime"` // Unix seconds
	Rest    jsontext.Value `json:",embed"`
}

// identity is the caller that changed the item. GetRecords capitalizes its field names.
type identity struct {
	Type      string `json:"type,case:ignore"`
	Principal string `json:"principalId,case:ignore"`
}

// encodeRecord converts a record of GetRecords to the form of Lambda's event, with this creation
// time. It returns a malformed record unchanged, so that the handler reports it.
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
