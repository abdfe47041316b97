package explain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/hotshard/hotshard/internal/tool/explain"
)

// series names one series of CloudWatch.
type series struct{ metric, table, index, stat string }

// cloud is a fake of CloudWatch.
type cloud struct {
	mu     sync.Mutex
	points map[series]map[int64]float64
	denied map[string]bool // operations
	calls  map[string]bool // operations that were called, as IAM names them
}

func newCloud() *cloud {
	return &cloud{points: map[series]map[int64]float64{}, denied: map[string]bool{}, calls: map[string]bool{}}
}

func (c *cloud) count(at time.Time, s series, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.points[s] == nil {
		c.points[s] = map[int64]float64{}
	}
	c.points[s][at.Truncate(time.Minute).Unix()] += n
}

// client returns a client of CloudWatch that calls the fake over HTTP.
func (c *cloud) client(t *testing.T) *cloudwatch.Client {
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return cloudwatch.New(cloudwatch.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""), Retryer: aws.NopRetryer{},
	})
}

// ServeHTTP responds in RPC v2 CBOR, as CloudWatch does.
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	operation := path.Base(r.URL.Path)
	c.calls["cloudwatch:"+operation] = true
	body, err := io.ReadAll(r.Body)
	in, decoding := cbor.Decode(body)
	answer, status := cbor.Value(cbor.Map{"__type": cbor.String("com.amazonaws#InvalidParameterValue")}), http.StatusBadRequest
	switch request, _ := in.(cbor.Map); {
	case err != nil || decoding != nil:
	case c.denied["cloudwatch:"+operation]:
		answer = cbor.Map{"__type": cbor.String("com.amazonaws#AccessDenied"), "message": cbor.String("User is not authorized to perform: cloudwatch:" + operation)}
	case operation == "GetMetricData":
		answer, status = c.metricData(request), http.StatusOK
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	w.WriteHeader(status)
	_, _ = w.Write(cbor.Encode(answer))
}

func epoch(seconds int64) cbor.Value { return &cbor.Tag{ID: 1, Value: cbor.Float64(seconds)} }

func (c *cloud) metricData(in cbor.Map) cbor.Value {
	var results cbor.List
	for _, q := range in["MetricDataQueries"].(cbor.List) {
		query := q.(cbor.Map)
		stat := query["MetricStat"].(cbor.Map)
		metric := stat["Metric"].(cbor.Map)
		s := series{metric: string(metric["MetricName"].(cbor.String)), stat: string(stat["Stat"].(cbor.String))}
		for _, d := range metric["Dimensions"].(cbor.List) {
			switch dimension := d.(cbor.Map); dimension["Name"].(cbor.String) {
			case "TableName":
				s.table = string(dimension["Value"].(cbor.String))
			case "GlobalSecondaryIndexName":
				s.index = string(dimension["Value"].(cbor.String))
			}
		}
		var times, values cbor.List
		for at, n := range c.points[s] {
			times, values = append(times, epoch(at)), append(values, cbor.Float64(n))
		}
		results = append(results, cbor.Map{"Id": query["Id"], "StatusCode": cbor.String("Complete"), "Timestamps": times, "Values": values})
	}
	return cbor.Map{"MetricDataResults": results}
}

// dynamoDB records the calls, and denies some.
type dynamoDB struct {
	*cloud
	base http.RoundTripper
}

func (d dynamoDB) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls["dynamodb:"+operation] = true
	if !d.denied["dynamodb:"+operation] {
		return d.base.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"User is not authorized to perform: dynamodb:` + operation + `"}`)),
	}, nil
}

// made returns the operations that were called, sorted.
func (c *cloud) made() (calls []string) {
	for name := range c.calls {
		calls = append(calls, name)
	}
	slices.Sort(calls)
	return calls
}

// meter counts throttled requests as CloudWatch does, and logs the errors as three SDKs print them.
type meter struct {
	*cloud
	base http.RoundTripper
	now  func() time.Time
	logs map[string]*strings.Builder // by SDK
}

func (m meter) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	response, err := m.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	type reason struct {
		Reason   string `json:"reason"`
		Resource string `json:"resource"`
	}
	var fault struct {
		Type    string   `json:"__type"`
		Message string   `json:"message"`
		Reasons []reason `json:"ThrottlingReasons"`
	}
	if err := json.Unmarshal(body, &fault); err != nil {
		return nil, err
	}
	totals := map[series]bool{}
	for _, x := range fault.Reasons {
		at, ok := explain.ParseReason(x.Reason, x.Resource)
		if !ok {
			return nil, fmt.Errorf("unknown reason %+v", x)
		}
		name := map[explain.Operation]string{explain.Read: "Read", explain.Write: "Write"}[at.Operation]
		m.count(m.now(), series{name + strings.TrimSuffix(string(at.Cause), "Exceeded") + "ThrottleEvents", at.Table, at.Index, "Sum"}, 1)
		totals[series{name + "ThrottleEvents", at.Table, at.Index, "Sum"}] = true
	}
	for s := range totals {
		m.count(m.now(), s, 1)
	}
	exception := fault.Type[strings.Index(fault.Type, "#")+1:]
	time := m.now().UTC().Format(time.RFC3339)
	fmt.Fprintf(m.logs["boto3"], "%s ERROR An error occurred (%s) when calling the %s operation (reached max retries: 9): %s {'Error': {'Message': '%[4]s', 'Code': '%[2]s'}, 'ThrottlingReasons': [", time, exception, operation, fault.Message)
	fmt.Fprintf(m.logs["js"], "%s: %s\n    at ProtocolLib.getErrorSchemaOrThrowBaseException (/app/node_modules/@aws-sdk/core/index.js:69:20)\n  '$fault': 'client',\n  ThrottlingReasons: [\n", exception, fault.Message)
	for i, x := range fault.Reasons {
		fmt.Fprintf(m.logs["boto3"], "%s{'reason': '%s', 'resource': '%s'}", []string{"", ", "}[min(i, 1)], x.Reason, x.Resource)
		fmt.Fprintf(m.logs["js"], "    {\n      reason: '%s',\n      resource: '%s'\n    }\n", x.Reason, x.Resource)
	}
	fmt.Fprint(m.logs["boto3"], "]}\n")
	fmt.Fprintf(m.logs["js"], "  ],\n  __type: '%s'\n}\n", fault.Type)
	line, err := json.Marshal(map[string]any{"time": time, "level": "ERROR", "msg": "operation error DynamoDB: " + operation + ", " + exception + ": " + fault.Message, "reasons": fault.Reasons})
	fmt.Fprintf(m.logs["go"], "%s\n", line)
	return response, err
}
