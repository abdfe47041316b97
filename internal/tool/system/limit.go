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

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// Limits configures a partition limiter between the functions and the engine. The zero value is no limiter.
// [throttle.Options] documents the fields.
type Limits struct {
	Partitions      int           // of each table and index at the start; 0 for no limiter
	PartitionWCU    int           // WCU/s of each partition; the detector's threshold scales with it
	TableWCU        int           // WCU/s of each table; 0 for no limit
	SplitAfter      time.Duration // how long a partition is at its limit before it splits; 0 is never
	TransactionHold time.Duration // how long a transaction locks its items; 0 is no time
	// MapWCU is the WCU/s of the shard map's partitions; 0 is PartitionWCU. The load on the shard map does not scale
	// down with PartitionWCU, so it may need a higher limit. It applies only to functions in this process.
	MapWCU int
	Seed   uint64 // selects the placement of keys on partitions
}

// options returns the limiter's options.
func (l Limits) options() throttle.Options {
	return throttle.Options{
		Partitions: l.Partitions, PartitionWCU: l.PartitionWCU, TableWCU: l.TableWCU,
		SplitAfter: l.SplitAfter, TransactionHold: l.TransactionHold,
		Seed: l.Seed,
	}
}

// mapOptions returns the options of the shard map's limiter.
func (l Limits) mapOptions() throttle.Options {
	o := l.options()
	o.PartitionWCU, o.TableWCU = l.MapWCU, 0
	return o
}

// How long a delivery waits for more records. A write is in its summary within twice that time. Scaled-down limits need
// longer waits: a summary is one partition key, and each delivery writes it once.
const (
	batchingWindow        = 100 * time.Millisecond
	limitedBatchingWindow = time.Second
)

// limited is the connection to an engine, direct or through a limiter.
type limited struct {
	limits     Limits
	target     string            // the engine's URL
	shardMap   string            // the table's name
	limiter    *throttle.Limiter // nil if there is none, as are the next three
	mapLimiter *throttle.Limiter // of the shard map, if it has its own

	proxy         *http.Server // for other programs
	proxyListener net.Listener
}

// proxyAddr is the address of the limiter's proxy: on this machine only.
const proxyAddr = "127.0.0.1:0"

// start makes the limiters, if configured, and listens for other programs.
func (l *limited) start() error {
	if l.limits.Partitions == 0 {
		return nil
	}
	o, ofMap := l.limits.options(), l.limits.mapOptions()
	o.Base, ofMap.Base = dynamolocal.Transport(), dynamolocal.Transport()
	var err error
	if l.limiter, err = throttle.New(o); err != nil {
		return err
	}
	if ofMap.PartitionWCU > 0 {
		if l.mapLimiter, err = throttle.New(ofMap); err != nil {
			return err
		}
	}
	engine, err := url.Parse(l.target)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", l.target, err)
	}
	if l.proxyListener, err = net.Listen("tcp", proxyAddr); err != nil {
		return fmt.Errorf("listening for the limiter's proxy: %w", err)
	}
	l.proxy = &http.Server{Handler: httpapi.ForHostsOf(proxyAddr, l.limiter.Proxy(engine)), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	return nil
}

// stop closes the listener for other programs.
func (l *limited) stop() {
	if l.proxyListener != nil {
		_ = l.proxyListener.Close() // closed already after a served shutdown
	}
}

// byTable sends a request through the shard map's limiter if it names that table. No request names another table too.
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

// client returns a new client of the engine, through the limiter if there is one.
func (l *limited) client() *dynamodb.Client {
	return dynamolocal.DynamoDB(l.target, "", func(o *dynamodb.Options) {
		switch {
		case l.mapLimiter != nil:
			named := fmt.Appendf(nil, `"TableName":%q`, l.shardMap)
			o.HTTPClient = &http.Client{Transport: byTable{named, l.mapLimiter, l.limiter}}
		case l.limiter != nil:
			o.HTTPClient = &http.Client{Transport: l.limiter}
		}
	})
}

// LimitedEndpoint returns the URL of the engine through the limiter for other programs, or "" without a limiter.
func (l *limited) LimitedEndpoint() string {
	if l.proxyListener == nil {
		return ""
	}
	return "http://" + l.proxyListener.Addr().String()
}

// Charged returns what the limiter has charged and throttled. The operations and the table of the shard map's own
// limiter are appended; keys are those of the main limiter only.
func (l *limited) Charged() throttle.Stats {
	if l.limiter == nil {
		return throttle.Stats{}
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

// partitionWCU returns the WCU/s of a partition.
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
