package throttle_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

var errLost = errors.New("the response is lost")

// losing is an engine that loses the responses of one operation.
type losing struct{ operation string }

func (l losing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := dynamolocal.Transport().RoundTrip(req)
	if err == nil && strings.HasSuffix(req.Header.Get("X-Amz-Target"), "."+l.operation) {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return nil, errLost
	}
	return resp, err
}

// TestLostResponses checks that a request whose response is lost costs the minimum, and a request that was
// not sent nothing.
func TestLostResponses(t *testing.T) {
	const item = `{"pk":{"S":"a"},"sk":{"S":"1"}}`
	b := newBench(t, roomy)
	for operation, call := range map[string]struct {
		body  string
		units float64
	}{
		"PutItem":            {`{"TableName":"limited","Item":` + item + `}`, 1},
		"GetItem":            {`{"TableName":"limited","Key":` + item + `}`, 0.5},
		"BatchWriteItem":     {`{"RequestItems":{"limited":[{"PutRequest":{"Item":` + item + `}}]}}`, 1},
		"BatchGetItem":       {`{"RequestItems":{"limited":{"Keys":[` + item + `]}}}`, 0.5},
		"TransactWriteItems": {`{"TransactItems":[{"Put":{"TableName":"limited","Item":` + item + `}}]}`, 2},
		"TransactGetItems":   {`{"TransactItems":[{"Get":{"TableName":"limited","Key":` + item + `}}]}`, 2},
	} {
		for _, lost := range []string{operation, "DescribeTable"} {
			l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 10, Base: losing{lost}})
			require.NoError(t, err)
			req := b.request(t, enginetest.Endpoint(t), operation, strings.NewReader(call.body))
			if _, err := l.RoundTrip(req); !errors.Is(err, errLost) {
				t.Errorf("%s: got %v, want the transport's error", operation, err)
			}
			units := map[bool]float64{true: call.units}[lost == operation]
			if s := l.Stats(); s.WriteUnits+s.ReadUnits != units {
				t.Errorf("%s without a response to %s: charged %v and %v units, want %v", operation, lost, s.WriteUnits, s.ReadUnits, units)
			}
		}
	}
}

// leaving is an engine whose callers get these responses of batches, which leave items unprocessed.
type leaving struct{ answers map[string]string }

func (l leaving) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	body, ok := l.answers[operation]
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	// The limiter itself reads with ConsistentRead.
	if !ok || strings.Contains(string(sent), "ConsistentRead") {
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
		return dynamolocal.Transport().RoundTrip(req)
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestEngineLeavesItems checks that items that the engine leaves unprocessed are returned with the throttled
// ones, and not charged.
func TestEngineLeavesItems(t *testing.T) {
	key := func(pk, sk string) string { return `{"pk":{"S":"` + pk + `"},"sk":{"S":"` + sk + `"}}` }
	remove := func(pk, sk string) string { return `{"DeleteRequest":{"Key":` + key(pk, sk) + `}}` }
	list := func(texts ...string) string { return `{"limited":[` + strings.Join(texts, ",") + `]}` }
	keys := func(texts ...string) string { return `{"limited":{"Keys":[` + strings.Join(texts, ",") + `]}}` }
	b := newBench(t, roomy)
	l, err := throttle.New(throttle.Options{Partitions: 64, PartitionWCU: 1, PartitionRCU: 1, Now: b.Now, Base: leaving{map[string]string{
		"BatchWriteItem": `{"UnprocessedItems":` + list(remove("b", "1")) + `}`,
		"BatchGetItem":   `{"Responses":` + list(key("a", "1")) + `,"UnprocessedKeys":` + keys(key("b", "1")) + `}`,
	}}})
	require.NoError(t, err)
	if l.Partition("a") == l.Partition("b") {
		t.Fatal("a and b are on one partition")
	}
	// One unit admits one deletion, and two reads of half a unit.
	got := b.post(t, l, "BatchWriteItem", `{"RequestItems":`+list(remove("a", "1"), remove("a", "2"), remove("b", "1"))+`}`)
	if want := `200 OK {"UnprocessedItems":` + list(remove("a", "2"), remove("b", "1")) + `}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = b.post(t, l, "BatchGetItem", `{"RequestItems":`+keys(key("a", "1"), key("a", "2"), key("a", "3"), key("b", "1"), key("b", "2"))+`}`)
	if want := `"UnprocessedKeys":` + keys(key("a", "3"), key("b", "1")); !strings.HasPrefix(got, "200 OK ") || !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if s := l.Stats(); s.WriteUnits != 1 || s.ReadUnits != 1.5 {
		t.Errorf("charged %v and %v units, want 1 and 1.5", s.WriteUnits, s.ReadUnits)
	}
}
