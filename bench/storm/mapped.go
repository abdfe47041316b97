package storm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// mapLimits is a limiter of the shard map's own, with AWS's limit for its partitions. The load on the shard map does not
// scale down with the other tables' limits. It applies only to functions in this process.
type mapLimits struct {
	named   []byte // in a request's JSON
	limiter *throttle.Limiter
}

func newMapLimits(table string, l system.Limits) (*mapLimits, error) {
	limiter, err := throttle.New(throttle.Options{
		Partitions: l.Partitions, PartitionWCU: 1000, SplitAfter: l.SplitAfter, TransactionHold: l.TransactionHold, Seed: l.Seed,
		Base: dynamolocal.Transport(),
	})
	return &mapLimits{fmt.Appendf(nil, `"TableName":%q`, table), limiter}, err
}

// wrap returns a transport that sends requests which name the shard map through its limiter, and others to next. No
// request names another table too.
func (m *mapLimits) wrap(next http.RoundTripper) http.RoundTripper {
	return byTable{m.named, m.limiter, next}
}

type byTable struct {
	named             []byte
	shardMap, another http.RoundTripper
}

func (b byTable) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	if err := r.Body.Close(); err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, b.named) {
		return b.shardMap.RoundTrip(r)
	}
	return b.another.RoundTrip(r)
}
