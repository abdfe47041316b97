package throttle_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

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
