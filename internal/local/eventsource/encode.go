package eventsource

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/go-json-experiment/json/jsontext"
)

// appendRecord appends a record as Lambda's event holds it.
func appendRecord(b []byte, r Record, arn string) []byte {
	c := &r.Change
	b = appendString(append(b, `{"eventID":`...), aws.ToString(c.EventID))
	b = appendString(append(b, `,"eventName":`...), string(c.EventName))
	b = appendString(append(b, `,"eventVersion":`...), aws.ToString(c.EventVersion))
	b = appendString(append(b, `,"eventSource":`...), aws.ToString(c.EventSource))
	b = appendString(append(b, `,"awsRegion":`...), aws.ToString(c.AwsRegion))
	if id := c.UserIdentity; id != nil {
		b = appendString(append(b, `,"userIdentity":{"type":`...), aws.ToString(id.Type))
		b = appendString(append(b, `,"principalId":`...), aws.ToString(id.PrincipalId))
		b = append(b, '}')
	}
	b = appendChange(append(b, `,"dynamodb":`...), r)
	b = appendString(append(b, `,"eventSourceARN":`...), arn)
	return append(b, '}')
}

func appendChange(b []byte, r Record) []byte {
	d := r.Change.Dynamodb
	b = strconv.AppendInt(append(b, `{"ApproximateCreationDateTime":`...), r.Created.Unix(), 10)
	b = appendMap(append(b, `,"Keys":`...), d.Keys)
	if d.NewImage != nil {
		b = appendMap(append(b, `,"NewImage":`...), d.NewImage)
	}
	if d.OldImage != nil {
		b = appendMap(append(b, `,"OldImage":`...), d.OldImage)
	}
	b = appendString(append(b, `,"SequenceNumber":`...), r.Sequence())
	b = strconv.AppendInt(append(b, `,"SizeBytes":`...), aws.ToInt64(d.SizeBytes), 10)
	b = appendString(append(b, `,"StreamViewType":`...), string(d.StreamViewType))
	return append(b, '}')
}

// appendMap sorts the names, so that a record always has the same bytes.
func appendMap(b []byte, m map[string]types.AttributeValue) []byte {
	var space [16]string
	names := slices.AppendSeq(space[:0], maps.Keys(m))
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendValue(b, m[name])
	}
	return append(b, '}')
}

func appendValue(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		b = appendString(append(b, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		b = appendString(append(b, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		b = appendBinary(append(b, `{"B":`...), v.Value)
	case *types.AttributeValueMemberBOOL:
		b = strconv.AppendBool(append(b, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		b = strconv.AppendBool(append(b, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberM:
		b = appendMap(append(b, `{"M":`...), v.Value)
	case *types.AttributeValueMemberL:
		b = appendList(append(b, `{"L":`...), v.Value, appendValue)
	case *types.AttributeValueMemberSS:
		b = appendList(append(b, `{"SS":`...), v.Value, appendString)
	case *types.AttributeValueMemberNS:
		b = appendList(append(b, `{"NS":`...), v.Value, appendString)
	case *types.AttributeValueMemberBS:
		b = appendList(append(b, `{"BS":`...), v.Value, appendBinary)
	default: // a type that DynamoDB had not when this was written
		return append(b, `{}`...)
	}
	return append(b, '}')
}

func appendList[T any](b []byte, list []T, appendOne func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOne(b, v)
	}
	return append(b, ']')
}

// appendString ignores AppendQuote's error: it has then put U+FFFD for what is
// not UTF-8, as Lambda does.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func appendBinary(b []byte, v []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), v), '"')
}
