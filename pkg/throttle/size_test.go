package throttle_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// counting is an engine that counts its calls and the bytes of its responses.
type counting struct{ calls, bytes int }

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := dynamolocal.Transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.calls++
	c.bytes += len(body)
	return resp, err
}

// TestSizesCostLittle checks that PartitionBytes of AWS's size adds no calls of the engine, and makes no response longer.
func TestSizesCostLittle(t *testing.T) {
	const writes = 50
	var engines [2]counting
	for i, size := range []int64{0, 10_000_000_000} {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 10_000, PartitionBytes: size, Base: &engines[i]}, sortedTable())
		for range writes {
			require.NoError(t, b.put(t, itemOf("a", "1", sized(10))))
			update := updateOf("a", "SET #x = :x", values{":x": n("1")})
			update.ReturnValues = types.ReturnValueUpdatedNew
			require.NoError(t, b.update(t, update))
			require.NoError(t, b.remove(t, "b", "1"))
		}
	}
	t.Logf("%d writes without sizes, and with them: %+v", 3*writes, engines)
	if a, b := engines[0], engines[1]; a.calls != b.calls || b.bytes-a.bytes > 200 || a.bytes-b.bytes > 200 {
		t.Errorf("%d writes make %d calls with %d bytes, and with sizes %d with %d", 3*writes, a.calls, a.bytes, b.calls, b.bytes)
	}
}
