package system

import (
	"fmt"
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
}

// options are the limiter's.
func (l Limits) options() limiter.Options {
	return limiter.Options{
		Partitions: l.Partitions, PartitionWCU: l.PartitionWCU, TableWCU: l.TableWCU,
		Burst: l.Burst, SplitAfter: l.SplitAfter, TransactionHold: l.TransactionHold,
	}
}

// limitedBatchingWindow suits limits that are scaled down: a summary is one
// partition key, and takes a write each window.
const limitedBatchingWindow = time.Second

// limit makes the functions' client: the engine's own, or one behind a limiter,
// which other programs reach through a proxy.
func (s *System) limit() error {
	s.functions = s.db
	if s.options.Limits.Partitions == 0 {
		return nil
	}
	o := s.options.Limits.options()
	o.Base = local.Transport()
	var err error
	if s.limiter, err = limiter.New(o); err != nil {
		return err
	}
	s.functions = local.DynamoDB(s.endpoint, "", func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: s.limiter}
	})
	return s.startProxy()
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

// Charged is what the limiter charged and refused so far.
func (s *System) Charged() limiter.Stats {
	if s.limiter == nil {
		return limiter.Stats{}
	}
	return s.limiter.Stats()
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
