package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

const (
	awsARN    = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-05T13:00:00.000"
	engineARN = "arn:aws:dynamodb:ddblocal:000000000000:table/orders/stream/2026-01-05T13:00:00.000"
)

// service is an HTTP client that responds as DynamoDB Streams does. Its stream has one stream shard, "s", with the
// records 1, 2, 3, ...
type service struct {
	mu      sync.Mutex
	records int
	closed  bool
	trimmed int  // records that have expired
	epoch   int  // iterators of earlier epochs have expired
	unknown bool // iterators of earlier epochs are invalid, as after an engine's restart
	text    string
	fault   func(operation string) fault // may be nil
	list    []Shard
	calls   []string // operations
	limits  []int    // of GetRecords
	asked   []string // iterator types with sequence numbers
}

// fault is a response that replaces the service's. The zero value replaces none.
type fault struct {
	status int
	body   string
}

// Faults of the service and the network. After those in transient, a cursor continues.
var (
	reset     = fault{body: "reset"}
	cutOff    = fault{200, "cut off"}
	garbage   = fault{200, "<html>out of order</html>"}
	noObject  = fault{200, "{}"}
	broken    = fault{500, `{"__type":"x#InternalServerError"}`}
	throttled = fault{400, `{"__type":"x#LimitExceededException"}`}
	emptyPage = fault{200, "empty"}

	transient = []fault{reset, cutOff, garbage, noObject, broken}
)

func rejection(code string) fault { return fault{400, fmt.Sprintf(`{"__type":"x#%s"}`, code)} }

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// Do implements the SDK's HTTPClient.
func (s *service) Do(request *http.Request) (*http.Response, error) {
	var in struct {
		ShardIteratorType, SequenceNumber, ShardIterator, ExclusiveStartShardId string
		Limit                                                                   int
	}
	body, err := io.ReadAll(request.Body)
	if err := errors.Join(err, json.Unmarshal(body, &in)); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, operation)
	var wrong fault
	if s.fault != nil {
		wrong = s.fault(operation)
	}
	switch wrong {
	case fault{}:
	case reset:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case cutOff:
		response, err := answer(200, "")
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"Records":[`), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return response, err
	case emptyPage:
		return answer(200, fmt.Sprintf(`{"Records":[],"NextShardIterator":%q}`, in.ShardIterator))
	default:
		return answer(wrong.status, wrong.body)
	}
	switch operation {
	case "DescribeStream":
		return s.describe(in.ExclusiveStartShardId)
	case "GetShardIterator":
		return s.iterator(in.ShardIteratorType, in.SequenceNumber)
	}
	s.limits = append(s.limits, in.Limit)
	return s.page(in.ShardIterator, in.Limit)
}

// describe lists two stream shards in a page.
func (s *service) describe(after string) (*http.Response, error) {
	list, last := s.list, ""
	if list == nil {
		list = []Shard{{ID: "s", Closed: s.closed}}
	}
	list = list[1+slices.IndexFunc(list, func(shard Shard) bool { return shard.ID == after }):]
	if len(list) > 2 {
		list = list[:2]
		last = fmt.Sprintf(`,"LastEvaluatedShardId":%q`, list[1].ID)
	}
	var texts []string
	for _, shard := range list {
		ending := ""
		if shard.Closed {
			ending = `"EndingSequenceNumber":"9"`
		}
		texts = append(texts, fmt.Sprintf(`{"ShardId":%q,"ParentShardId":%q,"SequenceNumberRange":{%s}}`, shard.ID, shard.Parent, ending))
	}
	return answer(200, `{"StreamDescription":{"Shards":[`+strings.Join(texts, ",")+`]`+last+`}}`)
}

func (s *service) iterator(kind, after string) (*http.Response, error) {
	at := s.trimmed
	switch kind {
	case "LATEST":
		at = s.records
	case "AFTER_SEQUENCE_NUMBER":
		if at, _ = strconv.Atoi(after); at < s.trimmed {
			return answer(400, `{"__type":"x#TrimmedDataAccessException"}`)
		}
	}
	s.asked = append(s.asked, kind+after)
	if s.closed && at == s.records {
		return answer(200, `{}`)
	}
	return answer(200, fmt.Sprintf(`{"ShardIterator":"%d|%d"}`, s.epoch, at))
}

func (s *service) page(iterator string, limit int) (*http.Response, error) {
	var epoch, at int
	if _, err := fmt.Sscanf(iterator, "%d|%d", &epoch, &at); err != nil {
		return nil, err
	}
	if epoch < s.epoch && s.unknown {
		return answer(400, `{"__type":"x#ValidationException","message":"Invalid ShardIterator"}`)
	}
	if epoch < s.epoch {
		return answer(400, `{"__type":"x#ExpiredIteratorException"}`)
	}
	if at < s.trimmed {
		return answer(400, `{"__type":"x#TrimmedDataAccessException"}`)
	}
	var texts []string
	for ; at < s.records && len(texts) < limit; at++ {
		texts = append(texts, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"k"}},"NewImage":{"pk":{"S":"k"},"text":{"S":%q}},"SequenceNumber":"%d"}}`, s.text, at+1))
	}
	next := ""
	if !s.closed || at < s.records {
		next = fmt.Sprintf(`,"NextShardIterator":"%d|%d"`, s.epoch, at)
	}
	return answer(200, `{"Records":[`+strings.Join(texts, ",")+`]`+next+`}`)
}

func (s *service) stream(arn string) *Stream {
	return NewStream(dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://fake"), HTTPClient: s,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), arn, types.StreamViewTypeNewAndOldImages)
}

// made returns the number of calls of an operation.
func (s *service) made(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.calls), func(call string) bool { return call != operation }))
}
