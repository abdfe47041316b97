package system

import (
	"fmt"
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
	TransactionHold time.Duration // how long a transaction locks its items; 0 is no time
	Seed            uint64        // selects the placement of keys on partitions
}

func (l Limits) options() throttle.Options {
	return throttle.Options{
		Partitions: l.Partitions, PartitionWCU: l.PartitionWCU, TableWCU: l.TableWCU, TransactionHold: l.TransactionHold, Seed: l.Seed,
	}
}

// How long an event source mapping waits for more records. A write is in its summary within twice that time. Each batch writes
// a summary once, under one partition key. So with a limiter the window is longer.
const (
	batchingWindow        = 100 * time.Millisecond
	limitedBatchingWindow = time.Second
)

// limited is the connection to an engine, direct or through a limiter.
type limited struct {
	limits  Limits
	target  string            // the engine's URL
	limiter *throttle.Limiter // nil without a limiter, as are proxy and proxyListener

	proxy         *http.Server // for other programs
	proxyListener net.Listener
}

// proxyAddr is the address of the limiter's proxy: on this machine only.
const proxyAddr = "127.0.0.1:0"

// start makes the limiter and listens on its proxy's port. Without a limiter it does nothing.
func (l *limited) start() error {
	if l.limits.Partitions == 0 {
		return nil
	}
	options := l.limits.options()
	options.Base = dynamolocal.Transport()
	var err error
	if l.limiter, err = throttle.New(options); err != nil {
		return err
	}
	engine, err := url.Parse(l.target)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", l.target, err)
	}
	if l.proxyListener, err = net.Listen("tcp", proxyAddr); err != nil {
		return fmt.Errorf("listening for the limiter's proxy: %w", err)
	}
	l.proxy = &http.Server{Handler: httpapi.ForHostsOf(proxyAddr, l.limiter.Proxy(engine)), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	return nil
}

// client returns a new client of the engine, through the limiter if there is one.
func (l *limited) client() *dynamodb.Client {
	return dynamolocal.DynamoDB(l.target, "", func(o *dynamodb.Options) {
		if l.limiter != nil {
			o.HTTPClient = &http.Client{Transport: l.limiter}
		}
	})
}

// LimitedEndpoint returns the URL of the limiter's proxy, for other programs; "" without a limiter.
func (l *limited) LimitedEndpoint() string {
	if l.proxyListener == nil {
		return ""
	}
	return "http://" + l.proxyListener.Addr().String()
}

// Charged returns the capacity that the limiter has charged, and its throttles; the zero value without a limiter.
func (l *limited) Charged() throttle.Stats {
	if l.limiter == nil {
		return throttle.Stats{}
	}
	return l.limiter.Stats()
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
