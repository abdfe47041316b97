package herd

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// engine answers the few calls of a limiter's out of memory, in no time.
type engine struct {
	mu   sync.Mutex
	used map[string]int
}

type request struct {
	TableName string
	Key       map[string]struct{ S string }
	Values    map[string]struct{ N string } `json:"ExpressionAttributeValues"`
}

// RoundTrip does what DynamoDB would.
func (e *engine) RoundTrip(r *http.Request) (*http.Response, error) {
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "DescribeTable":
		return answer(200, `{"Table":{"TableName":"`+in.TableName+`","TableArn":"arn","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
			{"AttributeName":"sk","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]}}`), nil
	case "UpdateItem":
		return e.update(in)
	}
	return answer(200, `{}`), nil // an empty shard map
}

func (e *engine) update(in request) (*http.Response, error) {
	most, err := strconv.Atoi(in.Values[":part"].N)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	pk := in.Key["pk"].S
	if e.used[pk] >= most {
		return answer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"used":{"N":"`+strconv.Itoa(e.used[pk])+`"}}}`), nil
	}
	e.used[pk]++
	return answer(200, `{"Attributes":{"used":{"N":"`+strconv.Itoa(e.used[pk])+`"}},"ConsumedCapacity":{"TableName":"`+in.TableName+`","CapacityUnits":1}}`), nil
}

func answer(status int, body string) *http.Response {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
	}
}
