package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

const fakeARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-05T13:00:00.000"

// fake is an HTTP client that responds as DynamoDB Streams does. Its clock is that of its synctest bubble.
type fake struct {
	mu     sync.Mutex
	shards []*fakeShard
	opened int
	calls  []call

	noTimes    bool          // AT_TIMESTAMP and ShardFilter are rejected
	emulates   bool          // records have the times of minutes, AT_TIMESTAMP is a 500, and each item is deleted twice
	noneAtEnd  bool          // a closed stream shard has no iterator at its end
	listDelay  time.Duration // from a stream shard's start to its first listing
	ahead      time.Duration // of this machine's clock to the service's
	before     time.Duration // from a call to the service's answer
	after      time.Duration // from then to the answer's arrival
	pageLimit  int           // records in a page; 0 is 1,000
	emptyPages int           // each n-th page of a stream shard is empty; 0 is none
	fail       func(operation, shard string) *fault
	gotRecords int // polls that were answered

	attributes string            // of each item besides its keys, in JSON with a leading comma
	indexes    []ddbstream.Index // of the table
}

type fault struct {
	status int
	code   string
}

type call struct {
	operation, shard string
	at               time.Time
}

type fakeShard struct {
	id, parent string
	begun      time.Time
	closed     bool
	trimmed    int // records that have expired
	polls      int
	records    []fakeRecord
}

type fakeRecord struct {
	created  time.Time
	sequence string
	key      string
	units    int
	text     string
}

// open adds a stream shard. The caller holds mu once the fake is in use.
func (f *fake) open(parent string) *fakeShard {
	f.opened++
	s := &fakeShard{id: fmt.Sprintf("shardId-%08d", f.opened), parent: parent, begun: time.Now()}
	f.shards = append(f.shards, s)
	return s
}

// locked calls change while no request is answered.
func (f *fake) locked(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// failIf makes calls fail while the condition holds for their operation.
func (f *fake) failIf(wrong fault, condition func(operation string) bool) {
	f.fail = func(operation, _ string) *fault {
		if condition(operation) {
			return &wrong
		}
		return nil
	}
}

// end closes a stream shard and adds its children.
func (f *fake) end(s *fakeShard, children int) (list []*fakeShard) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.closed = true
	for range children {
		list = append(list, f.open(s.id))
	}
	return list
}

// write adds a record of an item that costs these write units.
func (f *fake) write(s *fakeShard, key string, units int) {
	if !f.writeOpen(s, key, units) {
		panic("write to a closed stream shard")
	}
}

// writeOpen adds a record unless the stream shard is closed, and reports whether it did.
func (f *fake) writeOpen(s *fakeShard, key string, units int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.closed {
		return false
	}
	now := f.now()
	sequence := fmt.Sprintf("%d%020d", 1000+len(f.shards), len(s.records)+1)
	data := f.attributes
	if units > 1 {
		data += fmt.Sprintf(`,"data":{"S":"%s"}`, strings.Repeat("x", 1024*(units-1)))
	}
	keys := fmt.Sprintf(`"pk":{"S":%s},"sk":{"S":"%s"}`, quoted(key), sequence)
	stamp := now
	if f.emulates {
		stamp = now.Truncate(time.Minute)
	}
	s.records = append(s.records, fakeRecord{now, sequence, key, units, fmt.Sprintf(
		`{"eventID":"%s","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{%s},"NewImage":{%s%s},"SequenceNumber":"%s","SizeBytes":100,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		sequence, stamp.Unix(), keys, keys, data, sequence)})
	if f.emulates {
		f.addPhantom(s, keys, stamp)
	}
	return true
}

// addPhantom adds a record as DynamoDB Local does when a delete finds no item, because another delete came first.
func (f *fake) addPhantom(s *fakeShard, keys string, stamp time.Time) {
	sequence := fmt.Sprintf("%d%020d", 1000+len(f.shards), len(s.records)+1)
	s.records = append(s.records, fakeRecord{f.now(), sequence, "phantom", 0, fmt.Sprintf(
		`{"eventID":"%s","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{%s},"SequenceNumber":"%s","SizeBytes":100,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		sequence, stamp.Unix(), keys, sequence)})
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (f *fake) shard(id string) *fakeShard {
	for _, s := range f.shards {
		if s.id == id {
			return s
		}
	}
	return nil
}

// now returns the service's time.
func (f *fake) now() time.Time { return time.Now().Add(-f.ahead) }

// Do responds to a request.
func (f *fake) Do(request *http.Request) (*http.Response, error) {
	time.Sleep(f.before)
	response, err := f.answer(request)
	if err == nil {
		response.Header.Set("Date", f.now().UTC().Format(http.TimeFormat))
	}
	time.Sleep(f.after)
	return response, err
}

func (f *fake) answer(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	var in struct {
		StreamArn, ShardId, ShardIteratorType, SequenceNumber, ShardIterator, ExclusiveStartShardId string
		Timestamp                                                                                   float64
		Limit                                                                                       int
		ShardFilter                                                                                 *struct{ Type, ShardId string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.ShardIterator != "" {
		in.ShardId, _, _ = strings.Cut(in.ShardIterator, "|")
	}
	f.calls = append(f.calls, call{operation, in.ShardId, time.Now()})
	if f.fail != nil {
		if wrong := f.fail(operation, in.ShardId); wrong != nil {
			return wrong.answer()
		}
	}
	switch operation {
	case "DescribeStream":
		if in.ShardFilter != nil && f.noTimes {
			return rejection("unknown filter"), nil
		}
		from := 0
		if in.ExclusiveStartShardId != "" {
			from = 1 + slices.IndexFunc(f.shards, func(s *fakeShard) bool { return s.id == in.ExclusiveStartShardId })
		}
		var list []string
		last := ""
		for _, s := range f.shards[from:] {
			if time.Since(s.begun) < f.listDelay || in.ShardFilter != nil && s.parent != in.ShardFilter.ShardId {
				continue
			}
			if len(list) == 100 {
				last = fmt.Sprintf(`,"LastEvaluatedShardId":%s`, list[99][len(`{"ShardId":`):len(`{"ShardId":`)+len(quoted(s.id))])
				break
			}
			text := fmt.Sprintf(`{"ShardId":%s`, quoted(s.id))
			if s.parent != "" {
				text += fmt.Sprintf(`,"ParentShardId":%s`, quoted(s.parent))
			}
			ending := ""
			if s.closed {
				ending = `,"EndingSequenceNumber":"999"`
			}
			list = append(list, text+fmt.Sprintf(`,"SequenceNumberRange":{"StartingSequenceNumber":"1"%s}}`, ending))
		}
		return answer(200, fmt.Sprintf(`{"StreamDescription":{"StreamArn":%s,"StreamStatus":"ENABLED","Shards":[%s]%s}}`, quoted(fakeARN), strings.Join(list, ","), last)), nil
	case "GetShardIterator":
		s := f.shard(in.ShardId)
		if s == nil {
			return answer(400, `{"__type":"x#ResourceNotFoundException","message":"no such shard"}`), nil
		}
		at := s.trimmed
		switch in.ShardIteratorType {
		case "LATEST":
			at = len(s.records)
		case "AFTER_SEQUENCE_NUMBER":
			for at < len(s.records) && s.records[at].sequence <= in.SequenceNumber {
				at++
			}
			if s.trimmed > 0 && s.records[s.trimmed-1].sequence > in.SequenceNumber {
				return answer(400, `{"__type":"x#TrimmedDataAccessException","message":"trimmed"}`), nil
			}
		case "AT_TIMESTAMP":
			if f.noTimes {
				return rejection("Invalid ShardIteratorType."), nil
			}
			if f.emulates {
				return answer(500, `{"__type":"x#InternalFailure"}`), nil
			}
			for at < len(s.records) && s.records[at].created.Unix() < int64(in.Timestamp) {
				at++
			}
		}
		if f.noneAtEnd && s.closed && at == len(s.records) {
			return answer(200, `{}`), nil
		}
		return answer(200, fmt.Sprintf(`{"ShardIterator":"%s|%d|%d"}`, s.id, at, time.Now().UnixMilli())), nil
	case "GetRecords":
		if in.ShardIterator == "" {
			return rejection("ShardIterator: want one"), nil
		}
		part := strings.Split(in.ShardIterator, "|")
		s := f.shard(part[0])
		at, _ := strconv.Atoi(part[1])
		issued, _ := strconv.ParseInt(part[2], 10, 64)
		if time.Since(time.UnixMilli(issued)) > 15*time.Minute {
			return answer(400, `{"__type":"x#ExpiredIteratorException","message":"expired"}`), nil
		}
		if at < s.trimmed {
			return answer(400, `{"__type":"x#TrimmedDataAccessException","message":"trimmed"}`), nil
		}
		s.polls++
		f.gotRecords++
		limit := min(in.Limit, 1000)
		if f.pageLimit > 0 {
			limit = min(limit, f.pageLimit)
		}
		if f.emptyPages > 0 && s.polls%f.emptyPages == 0 {
			limit = 0
		}
		var b bytes.Buffer
		b.WriteString(`{"Records":[`)
		for n := 0; n < limit && at < len(s.records); n++ {
			if n > 0 {
				b.WriteByte(',')
			}
			b.WriteString(s.records[at].text)
			at++
		}
		b.WriteByte(']')
		if !s.closed || at < len(s.records) {
			fmt.Fprintf(&b, `,"NextShardIterator":"%s|%d|%d"`, s.id, at, time.Now().UnixMilli())
		}
		b.WriteByte('}')
		return answer(200, b.String()), nil
	}
	return nil, fmt.Errorf("unexpected call of %s", operation)
}

func rejection(message string) *http.Response {
	return answer(400, fmt.Sprintf(`{"__type":"com.amazon.coral.validate#ValidationException","Message":%s}`, quoted(message)))
}

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

func (f *fake) client() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://fake"), HTTPClient: f,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

// found returns a table with the fake's stream.
func found() Found {
	return Found{Source: heat.CountedTable{Table: "orders", PartitionKey: "pk"}, Stream: fakeARN, View: types.StreamViewTypeNewAndOldImages}
}

// startReader runs a reader until the test ends, and checks that nothing else ends it.
func startReader(t *testing.T, o Options) *Reader {
	t.Helper()
	r := New(o)
	result := make(chan error, 1)
	go func() { result <- r.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want context.Canceled", err)
		}
	})
	return r
}

// reader starts a reader of the fake.
func (f *fake) reader(t *testing.T, o Options) *Reader {
	t.Helper()
	o.Streams, o.Found = f.client(), found()
	o.Found.Source.Indexes = f.indexes
	return startReader(t, o)
}

// unitsOf returns the write units of a window.
func unitsOf(w heat.Window) (units uint64) {
	for _, it := range w.Items {
		units += it.Units
	}
	return units
}

// coverageOf returns the covered share of a window. A complete window stores 0.
func coverageOf(w heat.Window) float64 {
	if c := w.Items[0].Coverage; c > 0 {
		return c
	}
	return 1
}

// counted returns the certified units of each key in all windows.
func counted(t *testing.T, r *Reader) map[string]uint64 {
	t.Helper()
	units := make(map[string]uint64)
	for w, err := range r.Windows(t.Context(), time.Time{}, time.Now().Add(time.Hour), Window) {
		require.NoError(t, err)
		for _, it := range w.Items {
			for _, k := range it.Keys {
				units[k.Key] += k.Units
			}
		}
	}
	return units
}

// checkCalls checks that a stream shard is polled at most once a second, and that DescribeStream has at most ten calls.
// Of other operations, only GetShardIterator may be called.
func (f *fake) checkCalls(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	polled := make(map[string]time.Time)
	var described []time.Time
	for _, c := range f.calls {
		switch c.operation {
		case "GetRecords":
			if last, ok := polled[c.shard]; ok && c.at.Sub(last) < time.Second {
				t.Errorf("stream shard %s was polled %v after its last poll, want 1s or more", c.shard, c.at.Sub(last))
			}
			polled[c.shard] = c.at
		case "DescribeStream":
			if n := len(described); n >= 10 && c.at.Sub(described[n-10]) < time.Second {
				t.Errorf("11 calls of DescribeStream within %v, want 1s or more", c.at.Sub(described[n-10]))
			}
			described = append(described, c.at)
		case "GetShardIterator":
		default:
			t.Errorf("unexpected call of %s", c.operation)
		}
	}
}

// made returns the number of calls of an operation.
func (f *fake) made(operation string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.operation == operation {
			n++
		}
	}
	return n
}

// truth returns the units of a stream shard between two times, and by key.
func truth(s *fakeShard, from, to time.Time) (units uint64, keys map[string]uint64) {
	keys = make(map[string]uint64)
	for _, r := range s.records {
		if at := r.created.Truncate(time.Second); !at.Before(from) && at.Before(to) {
			units += uint64(r.units)
			keys[r.key] += uint64(r.units)
		}
	}
	return units, keys
}
