package eventsource

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func everyKind() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"s":    &types.AttributeValueMemberS{Value: "a\"b\\c\n\x00é\u2028<&>"},
		"n":    &types.AttributeValueMemberN{Value: "-12.5E+3"},
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 1, 254, 255}},
		"t":    &types.AttributeValueMemberBOOL{Value: true},
		"f":    &types.AttributeValueMemberBOOL{Value: false},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"x", "y\""}},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}},
		"l":    &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "in"}}},
		"m":    &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"k\"": &types.AttributeValueMemberN{Value: "1"}}},
		"none": &types.AttributeValueMemberL{},
	}
}

func TestRecordDecodesAsLambdaEvent(t *testing.T) {
	created := time.Unix(1480642027, 0).UTC()
	r := Record{Created: created, Change: types.Record{
		AwsRegion: aws.String("ddblocal"), EventID: aws.String("id-1"), EventName: types.OperationTypeRemove,
		EventSource: aws.String("aws:dynamodb"), EventVersion: aws.String("1.1"),
		UserIdentity: &types.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")},
		Dynamodb: &types.StreamRecord{
			Keys:     map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "C#a#0"}},
			OldImage: everyKind(), SequenceNumber: aws.String("000000000000000000042"), SizeBytes: aws.Int64(54),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}}
	payload := appendPayload(nil, []entry{{json: appendRecord(nil, r, "arn:1")}}, nil)
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
	if len(old) != len(everyKind()) || old["s"].String() != "a\"b\\c\n\x00é\u2028<&>" || old["m"].Map()["k\""].Number() != "1" {
		t.Errorf("old image is %v", old)
	}
}

func TestImageBytes(t *testing.T) {
	const want = `{"b":{"B":"AAH+/w=="},"bs":{"BS":["AQ==","AgM="]},"f":{"BOOL":false},"l":{"L":[{"S":"in"}]},` +
		`"m":{"M":{"k\"":{"N":"1"}}},"n":{"N":"-12.5E+3"},"none":{"L":[]},"ns":{"NS":["1","2.5"]},"null":{"NULL":true},` +
		`"s":{"S":"a\"b\\c\n\u0000é` + "\u2028" + `<&>"},"ss":{"SS":["x","y\""]},"t":{"BOOL":true}}`
	if got := string(appendMap(nil, everyKind())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStringsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil || got != s {
			t.Fatalf("%q came back as %q, %v", s, got, err)
		}
	})
}

func BenchmarkAppendRecord(b *testing.B) {
	r := Record{Created: time.Unix(1480642027, 0), Change: types.Record{
		EventID: aws.String("id-1"), EventName: types.OperationTypeModify,
		Dynamodb: &types.StreamRecord{Keys: everyKind(), NewImage: everyKind(), OldImage: everyKind(), SequenceNumber: aws.String("42")},
	}}
	var buf []byte
	for b.Loop() {
		buf = appendRecord(buf[:0], r, "arn:1")
	}
	b.SetBytes(int64(len(buf)))
}
