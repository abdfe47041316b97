package eventsource

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// responses are those of a stream, in order. Each has a text of its request, such as the operation, and a body. A body that
// does not begin with { is an error code.
type responses [][2]string

// Do implements the SDK's HTTPClient.
func (r *responses) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	if len(*r) == 0 || !strings.Contains(request.Header.Get("X-Amz-Target")+string(body), (*r)[0][0]) {
		return nil, fmt.Errorf("unexpected call: %s %s, want %v", request.Header.Get("X-Amz-Target"), body, *r)
	}
	status, text := 200, (*r)[0][1]
	if *r = (*r)[1:]; !strings.HasPrefix(text, "{") {
		status, text = 400, fmt.Sprintf(`{"__type":"x#%s"}`, text)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text))}, nil
}

// reader returns a reader of a stream with these responses.
func (r *responses) reader(after string) Reader {
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://fake"), HTTPClient: r,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	s := NewStream(client, "arn:1", "NEW_AND_OLD_IMAGES")
	return s.Open("a", after)
}

const someRecord = `{"Records":[{"dynamodb":{"SequenceNumber":"7","ApproximateCreationDateTime":1700000001}}],"NextShardIterator":"i"}`

func TestReaderReplacesExpiredIterator(t *testing.T) {
	a := &responses{
		{`"AFTER_SEQUENCE_NUMBER"`, `{"ShardIterator":"i"}`}, {"GetRecords", "ExpiredIteratorException"},
		{`"AFTER_SEQUENCE_NUMBER"`, `{"ShardIterator":"i"}`}, {"GetRecords", someRecord},
	}
	records, closed, err := a.reader("6").Next(t.Context(), 10)
	if err != nil || closed || len(records) != 1 || records[0].Sequence != "7" || records[0].Created.Unix() != 1700000001 {
		t.Errorf("records %+v, closed %t, %v; want record 7", records, closed, err)
	}
}

// TestReaderRestartsAtTrimHorizon checks that a reader whose position has expired returns an error once, and then continues
// at the oldest record.
func TestReaderRestartsAtTrimHorizon(t *testing.T) {
	a := &responses{
		{`"AFTER_SEQUENCE_NUMBER"`, "TrimmedDataAccessException"},
		{`"TRIM_HORIZON"`, `{"ShardIterator":"i"}`}, {"GetRecords", someRecord},
	}
	r := a.reader("2")
	if _, _, err := r.Next(t.Context(), 10); err == nil || !strings.Contains(err.Error(), "stream shard a") {
		t.Fatalf("error = %v, want the stream shard", err)
	}
	if records, _, err := r.Next(t.Context(), 10); err != nil || len(records) != 1 || records[0].Sequence != "7" {
		t.Errorf("records %v, %v after the error; want record 7", records, err)
	}
}
