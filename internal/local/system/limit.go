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

// How long a delivery waits for more records. A write is in its summary within two of them.
// Limits that are scaled down want more time: a summary is one partition key, and takes a write
// each window.
const (
	batchingWindow        = 100 * time.Millisecond
	limitedBatchingWindow = time.Second
)

// limited is the way to an engine: straight, or through a limiter.
type limited struct {
	limits     Limits
	target     string           // the engine's URL
	shardMap   string           // the table
	limiter    *limiter.Limiter // nil for none; so are those that follow
	mapLimiter *limiter.Limiter // of the shard map, where it has one of its own

	proxy         *http.Server // for other programs
	proxyListener net.Listener
}

// start makes the limiters, if there are to be any, and listens for other programs.
func (l *limited) start() error {
	if l.limits.Partitions == 0 {
		return nil
	}
	o, ofMap := l.limits.options(), l.limits.mapOptions()
	o.Base, ofMap.Base = local.Transport(), local.Transport()
	var err error
	if l.limiter, err = limiter.New(o); err != nil {
		return err
	}
	if ofMap.PartitionWCU > 0 {
		if l.mapLimiter, err = limiter.New(ofMap); err != nil {
			return err
		}
	}
	engine, err := url.Parse(l.target)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", l.target, err)
	}
	if l.proxyListener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listening for the limiter's proxy: %w", err)
	}
	l.proxy = &http.Server{Handler: l.limiter.Proxy(engine), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	return nil
}

// stop lets go of the address for other programs.
func (l *limited) stop() {
	if l.proxyListener != nil {
		_ = l.proxyListener.Close() // closed already after a served shutdown
	}
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

// client is a function's own: to the engine, or behind the limiter.
func (l *limited) client() *dynamodb.Client {
	return local.DynamoDB(l.target, "", func(o *dynamodb.Options) {
		switch {
		case l.mapLimiter != nil:
			named := fmt.Appendf(nil, `"TableName":%q`, l.shardMap)
			o.HTTPClient = &http.Client{Transport: byTable{named, l.mapLimiter, l.limiter}}
		case l.limiter != nil:
			o.HTTPClient = &http.Client{Transport: l.limiter}
		}
	})
}

// LimitedEndpoint is where other programs reach the engine through the limiter,
// "" without one.
func (l *limited) LimitedEndpoint() string {
	if l.proxyListener == nil {
		return ""
	}
	return "http://" + l.proxyListener.Addr().String()
}

// Charged is what the limiter charged and refused so far. Where the shard map has one of
// its own, its operations and table follow the others; keys are of the others only.
func (l *limited) Charged() limiter.Stats {
	if l.limiter == nil {
		return limiter.Stats{}
	}
	all := l.limiter.Stats()
	if l.mapLimiter == nil {
		return all
	}
	own := l.mapLimiter.Stats()
	all.WriteUnits += own.WriteUnits
	all.ReadUnits += own.ReadUnits
	all.Operations = append(all.Operations, own.Operations...)
	all.Spaces = append(all.Spaces, own.Spaces...)
	return all
}

// partitionWCU is what a partition takes.
func (l *limited) partitionWCU() int {
	if l.limiter == nil {
		return 1000 // AWS's
	}
	return l.limits.PartitionWCU
}

func (l *limited) batchingWindow() time.Duration {
	if l.limiter == nil {
		return batchingWindow
	}
	return limitedBatchingWindow
}
