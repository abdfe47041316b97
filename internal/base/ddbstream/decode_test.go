package ddbstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-items/stream/2026-01-05T00:00:00.000"

// record returns a record with this text in its "dynamodb" object.
func record(name, change string) string {
	return `{"eventID":"1","eventName":"` + name + `","eventVersion":"1.1","awsRegion":"eu-west-1","dynamodb":{` +
		change + `},"eventSourceARN":"` + arn + `"}`
}

func decode(t *testing.T, payload string) *ddbstream.Batch {
	t.Helper()
	batch, err := ddbstream.Decode([]byte(payload))
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	return batch
}

// TestDecodeWindow checks the members of a payload with a tumbling window.
func TestDecodeWindow(t *testing.T) {
	batch := decode(t, `{"Records":[],"window":{"start":"2026-01-05T13:00:00Z","end":"2026-01-05T13:00:10Z"},
		"state":{"v":"1","odd":7},"shardId":"shardId-1","eventSourceARN":"`+arn+`",
		"isFinalInvokeForWindow":true,"isWindowTerminatedEarly":false,"more":[1,{}]}`)
	start := time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)
	want := &ddbstream.Batch{
		Records: batch.Records, SourceARN: arn, Windowed: true, WindowStart: start, WindowEnd: start.Add(10 * time.Second),
		State: map[string]string{"v": "1", "odd": "7"}, ShardID: "shardId-1", Final: true,
	}
	if diff := cmp.Diff(want, batch); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// TestExpired checks that only a removal by the TTL service is expired, and costs nothing.
func TestExpired(t *testing.T) {
	service := `{"principalId":"dynamodb.amazonaws.com","type":"Service"}`
	cases := []struct {
		name, identity string
		want           bool
	}{
		{"REMOVE", service, true},
		{"MODIFY", service, false},
		{"REMOVE", `{"type":"Service","principalId":"dynamodb.amazonaws.co\u006d"}`, true},
		{"REMOVE", `{"type":"Service","principalId":"lambda.amazonaws.com"}`, false},
		{"REMOVE", `{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}`, true}, // in a response of GetRecords
		{"REMOVE", `{"type":"Service"}`, false},
		{"REMOVE", `null`, false},
	}
	for _, c := range cases {
		// The old image has the text of a service's removal, too.
		batch := decode(t, `{"Records":[{"dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"x"}},"OldImage":{"userIdentity":{"M":{}}}},
			"userIdentity":`+c.identity+`,"eventName":"`+c.name+`"}]}`)
		rec := batch.Records[0]
		if rec.Expired != c.want || rec.Err != nil {
			t.Errorf("%s by %s: expired %v, %v; want %v", c.name, c.identity, rec.Expired, rec.Err, c.want)
		}
		if units, err := rec.WriteUnits(); (units == 0) != c.want || err != nil {
			t.Errorf("%s by %s: %d write units, %v", c.name, c.identity, units, err)
		}
	}
}

// TestNext checks that the NextShardIterator of a GetRecords response is decoded, and not kept for the next response.
func TestNext(t *testing.T) {
	for payload, want := range map[string]string{
		`{"Records":[],"NextShardIterator":"a\/b"}`: "a/b",
		`{"NextShardIterator":"a","Records":[]}`:    "a",
		`{"Records":[],"NextShardIterator":null}`:   "",
		`{"Records":[]}`: "",
	} {
		if got := decode(t, payload).Next; got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
	var d ddbstream.Decoder
	for _, payload := range []string{`{"Records":[],"NextShardIterator":"a"}`, `{"Records":[]}`} {
		batch, err := d.Decode([]byte(payload))
		if err != nil || batch.Next != "" && payload == `{"Records":[]}` {
			t.Errorf("%s after another: %+v, %v", payload, batch, err)
		}
	}
}

// TestDecodeMalformed checks the errors for malformed payloads.
func TestDecodeMalformed(t *testing.T) {
	ok := `"SequenceNumber":"1","Keys":{}`
	cases := []struct{ payload, want string }{
		{``, "EOF"},
		{`null`, "want {"},
		{`[]`, "want {"},
		{`{}`, "no Records"},
		{`{"key1":"value1"}`, "no Records"},
		{`{"Records":{}}`, "want ["},
		{`{"Records":[5]}`, "want {"},
		{`{"Records":[{}]}`, "record 0, at byte 12, has no SequenceNumber"},
		{`{"Records":[` + record("INSERT", ok) + `,{"dynamodb":{"SequenceNumber":7}}]}`, "record 1, at byte 249, has no SequenceNumber"},
		{`{"Records":[` + record("INSERT", ok), "EOF"},
		{`{"Records":[` + record("INSERT", ok) + `]} x`, "more data"},
		{`{"Records":[` + record("INSERT", ok) + `]}{}`, "more data"},
		{`{"Records":[` + record("INSERT", ok+`,"NewImage":{"a":{"S":"\x"}}`) + `]}`, "escape"},
		{`{"Records":[],"window":5}`, "window: "},
		{`{"Records":[],"window":{}}`, "want a start"},
		{`{"Records":[],"window":{"start":"2026-01-05T13:00:00Z","end":"2026-01-05T13:00:00Z"}}`, "later end"},
		{`{"Records":[],"window":{"start":"2026-01-05T13:00:00Z","end":"2026-01-05T13:00:00.0001Z"}}`, "later end"},
		{`{"Records":[],"window":{"start":"1026-01-05T13:00:00Z","end":"2026-01-05T13:00:00Z"}}`, "after 1970"},
		{`{"Records":[],"window":{"start":"yesterday"}}`, "window: start: "},
		{`{"Records":[],"state":7}`, "state: "},
		{`{"Records":[],"shardId":7}`, "shardId: want a string"},
		{`{"Records":[],"isFinalInvokeForWindow":"yes"}`, "isFinalInvokeForWindow: want a boolean"},
	}
	for _, c := range cases {
		batch, err := ddbstream.Decode([]byte(c.payload))
		if err == nil || batch != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Decode(%s) = %v, %v; want an error with %q", c.payload, batch, err, c.want)
		}
	}
}

// TestRecordFault checks that a fault of one record is its own Err, and does not affect the next record.
func TestRecordFault(t *testing.T) {
	cases := []struct{ name, change, want string }{
		{"DELETE", `"Keys":{}`, `eventName: unknown name "DELETE"`},
		{"INSERT", `"Keys":null`, "Keys: missing"},
		{"INSERT", `"Keys":[]`, "Keys: want an object"},
		{"INSERT", `"Keys":{},"OldImage":"x"`, "OldImage: want an object"},
		{"INSERT", `"Keys":{},"ApproximateCreationDateTime":"2026"`, "want a number"},
		{"INSERT", `"Keys":{},"ApproximateCreationDateTime":1e300`, "not a time"},
		{"INSERT", `"Keys":{},"ApproximateCreationDateTime":-1`, "not a time"},
	}
	good := record("INSERT", `"SequenceNumber":"2","Keys":{"pk":{"S":"a"}}`)
	for _, c := range cases {
		batch := decode(t, `{"Records":[`+record(c.name, `"SequenceNumber":"1",`+c.change)+`,`+good+`]}`)
		bad, good := batch.Records[0], batch.Records[1]
		if bad.Err == nil || !strings.Contains(bad.Err.Error(), "record 1: ") || !strings.Contains(bad.Err.Error(), c.want) || string(bad.Sequence) != "1" {
			t.Errorf("%s: %v; want %q", c.change, bad.Err, c.want)
		}
		if good.Err != nil || string(good.Sequence) != "2" {
			t.Errorf("%s: the next record: %+v", c.change, good)
		}
	}
}

// TestAnswer checks the JSON of a function's response to Lambda.
func TestAnswer(t *testing.T) {
	cases := []struct {
		state  map[string]string
		failed []string
		want   string
	}{
		{nil, nil, `{"state":{},"batchItemFailures":[]}`},
		{map[string]string{"v": "1"}, []string{"12", "3"}, `{"state":{"v":"1"},"batchItemFailures":[{"itemIdentifier":"12"},{"itemIdentifier":"3"}]}`},
	}
	for _, c := range cases {
		if got, err := ddbstream.Answer(c.state, c.failed...); string(got) != c.want || err != nil {
			t.Errorf("Answer(%v, %v) = %s, %v; want %s", c.state, c.failed, got, err, c.want)
		}
	}
	if got, err := ddbstream.Answer(nil, "1", ""); err == nil {
		t.Errorf("an empty sequence number is answered by %s, want an error", got)
	}
}
