package system

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
)

// Limits put a partition limiter between the functions and the engine. The zero
// value is no limiter. [limiter.Options] says what each means.
type Limits struct {
	Partitions      int           // that each table and index begins with; 0 for no limiter
	PartitionWCU    int           // write units a second of each; the detector's threshold scales with it
	TableWCU        int           // of each table; 0 for no such limit
	Burst           time.Duration // of unused throughput that is saved; 0 is a second
	SplitAfter      time.Duration // at its limit, until a partition splits; 0 is never
	TransactionHold time.Duration // for which a transaction has its items; 0 is no time
	// MapWCU is what a partition of the shard map takes instead; 0 is PartitionWCU.
	// Limits that are scaled down suit as many containers and hot keys as a fiftieth,
	// say, of a deployment's: what those cost the shard map does not scale with a
	// partition. It is for functions in this process; other programs' limit is one.
	MapWCU int
	Seed   uint64 // picks one of many placements of keys on partitions
}

// options are the limiter's.
func (l Limits) options() limiter.Options {
	return limiter.Options{
		Partitions: l.Partitions, PartitionWCU: l.PartitionWCU, TableWCU: l.TableWCU,
		Burst: l.Burst, SplitAfter: l.SplitAfter, TransactionHold: l.TransactionHold,
		Seed: l.Seed,
	}
}

// mapOptions are those of the shard map's own.
func (l Limits) mapOptions() limiter.Options {
	o := l.options()
	o.PartitionWCU, o.TableWCU = l.MapWCU, 0
	return o
}

// limitedBatchingWindow suits limits that are scaled down: a summary is one
// partition key, and takes a write each window.
const limitedBatchingWindow = time.Second

// limit makes the functions' client: the engine's own, or one behind a limiter,
// which other programs reach through a proxy.
func (s *System) limit() error {
	s.functions = s.client()
	if s.options.Limits.Partitions == 0 {
		return nil
	}
	o, ofMap := s.options.Limits.options(), s.options.Limits.mapOptions()
	o.Base, ofMap.Base = local.Transport(), local.Transport()
	var err error
	if s.limiter, err = limiter.New(o); err != nil {
		return err
	}
	if ofMap.PartitionWCU > 0 {
		if s.mapLimiter, err = limiter.New(ofMap); err != nil {
			return err
		}
	}
	s.functions = s.client()
	return s.startProxy()
}

// byTable sends a request through the shard map's limiter, if it is for that table.
// No request is for it and another.
type byTable struct {
	named     []byte // in a request's JSON
	shardMap  http.RoundTripper
	allOthers http.RoundTripper
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
	return b.allOthers.RoundTrip(r)
}

// limited is the way to the engine behind the limiters.
func (s *System) limited() http.RoundTripper {
	if s.mapLimiter == nil {
		return s.limiter
	}
	return byTable{fmt.Appendf(nil, `"TableName":%q`, s.names.ShardMap), s.mapLimiter, s.limiter}
}

// client is a function's own: to the engine, or behind the limiter.
func (s *System) client() *dynamodb.Client {
	return local.DynamoDB(s.endpoint, "", func(o *dynamodb.Options) {
		if s.limiter != nil {
			o.HTTPClient = &http.Client{Transport: s.limited()}
		}
	})
}

func (s *System) startProxy() error {
	engine, err := url.Parse(s.endpoint)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", s.endpoint, err)
	}
	if s.proxyListener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listening for the limiter's proxy: %w", err)
	}
	s.proxy = &http.Server{Handler: s.limiter.Proxy(engine), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	return nil
}

// LimitedEndpoint is where other programs reach the engine through the limiter,
// "" without one.
func (s *System) LimitedEndpoint() string {
	if s.proxyListener == nil {
		return ""
	}
	return "http://" + s.proxyListener.Addr().String()
}

// Charged is what the limiter charged and refused so far. Where the shard map has one of
// its own, its operations and table follow the others; keys are of the others only.
func (s *System) Charged() limiter.Stats {
	if s.limiter == nil {
		return limiter.Stats{}
	}
	all := s.limiter.Stats()
	if s.mapLimiter == nil {
		return all
	}
	own := s.mapLimiter.Stats()
	all.WriteUnits += own.WriteUnits
	all.ReadUnits += own.ReadUnits
	all.Operations = append(all.Operations, own.Operations...)
	all.Spaces = append(all.Spaces, own.Spaces...)
	return all
}

func (s *System) partitionWCU() int {
	if s.limiter == nil {
		return 1000 // AWS's
	}
	return s.options.Limits.PartitionWCU
}

func (s *System) batchingWindow() time.Duration {
	if s.limiter == nil {
		return batchingWindow
	}
	return limitedBatchingWindow
}
