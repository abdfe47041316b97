package eventsource

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// images are attributes of every type, as GetRecords writes them.
const images = `{"b":{"B":"AAH+/w=="},"bs":{"BS":["AQ==","AgM="]},"f":{"BOOL":false},"l":{"L":[{"S":"in"}]},` +
	`"m":{"M":{"k\"":{"N":"1"}}},"n":{"N":"-12.5E+3"},"none":{"L":[]},"ns":{"NS":["1","2.5"]},"null":{"NULL":true},` +
	`"s":{"S":"a\"b\\c\n\u0000é` + "\u2028" + `<&>"},"ss":{"SS":["x","y\""]},"t":{"BOOL":true}}`

// expired is a record of a removal by TTL, as GetRecords writes it.
const expired = `{"eventID":"id-1","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"ddblocal",
	"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"},
	"dynamodb":{"ApproximateCreationDateTime":1.48064202E9,"Keys":{"pk":{"S":"C#a#0"}},"OldImage":` + images + `,
	"SequenceNumber":"000000000000000000042","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`

// TestRecordDecodesAsLambdaEvent checks a payload with the types of aws-lambda-go.
func TestRecordDecodesAsLambdaEvent(t *testing.T) {
	created := time.Unix(1480642027, 0).UTC()
	payload := appendPayload(nil, []Record{{JSON: encodeRecord([]byte(expired), created, "arn:1")}}, nil)
	var got events.DynamoDBEvent
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatalf("%v in %s", err, payload)
	}
	want := events.DynamoDBEventRecord{
		AWSRegion: "ddblocal", EventID: "id-1", EventName: "REMOVE", EventSource: "aws:dynamodb", EventVersion: "1.1",
		EventSourceArn: "arn:1",
		UserIdentity:   &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"},
		Change: events.DynamoDBStreamRecord{
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: created},
			Keys:                        map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute("C#a#0")},
			SequenceNumber:              "000000000000000000042", SizeBytes: 54, StreamViewType: "NEW_AND_OLD_IMAGES",
		},
	}
	old := got.Records[0].Change.OldImage
	got.Records[0].Change.OldImage = nil
	same := cmp.Comparer(func(a, b events.DynamoDBAttributeValue) bool { return a.String() == b.String() })
	if diff := cmp.Diff([]events.DynamoDBEventRecord{want}, got.Records, same); diff != "" {
		t.Errorf("record differs (-want +got):\n%s", diff)
	}
	if len(old) != 12 || old["s"].String() != "a\"b\\c\n\x00é\u2028<&>" || old["m"].Map()["k\""].Number() != "1" {
		t.Errorf("old image %v, want its 12 attributes unchanged", old)
	}
}

// TestImagesKeepTheirBytes checks that images keep the bytes that GetRecords wrote, and that unknown fields are kept.
func TestImagesKeepTheirBytes(t *testing.T) {
	const raw = `{"eventName":"INSERT","more":[1],"dynamodb":{"ApproximateCreationDateTime":1,"NewImage":` + images + `,"less":{}}}`
	const want = `{"dynamodb":{"ApproximateCreationDateTime":7,"NewImage":` + images + `,"less":{}},"eventSourceARN":"arn:1","eventName":"INSERT","more":[1]}`
	if got := string(encodeRecord([]byte(raw), time.Unix(7, 0), "arn:1")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMalformedRecordsAreDeliveredUnchanged(t *testing.T) {
	for _, odd := range []string{`{"userIdentity":"x","dynamodb":{"SequenceNumber":"1"}}`, `{"dynamodb":[]}`, `7`} {
		if got := string(encodeRecord([]byte(odd), time.Unix(7, 0), "arn:1")); got != odd {
			t.Errorf("%s became %s", odd, got)
		}
	}
}
