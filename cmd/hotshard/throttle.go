package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// ThrottleCmd is hotshard throttle, a proxy that throttles as AWS does before an engine that does not.
type ThrottleCmd struct {
	Before string `required:"" placeholder:"URL" help:"DynamoDB-compatible engine that does not check signatures, such as DynamoDB Local."`
	Addr   string `default:"127.0.0.1:8000" help:"Address of the proxy, as host:port; port 0 picks a free one. Programs use it as their DynamoDB endpoint."`

	Partitions      int           `default:"4" help:"Partitions of each table and each global index at the start. A new on-demand table has about 4 on AWS."`
	PartitionWCU    int           `name:"partition-wcu" default:"1000" help:"Limit of each partition, in WCU/s."`
	PartitionRCU    int           `name:"partition-rcu" default:"3000" help:"Limit of each partition, in RCU/s."`
	Burst           time.Duration `default:"300s" help:"How much unused throughput a provisioned table or index saves, as time at its limit, 1s to 1h. A partition's limit stays."`
	SplitAfter      time.Duration `default:"10m" help:"How long a partition is at its limit before it splits in two, 1s to 24h; 0 is never. A single partition key never splits."`
	TransactionHold time.Duration `default:"5ms" help:"How long a transaction locks its items, up to 1s; other calls for them get a conflict meanwhile. 0 means no conflicts."`
	TableWCU        int           `name:"table-wcu" help:"Limit of each table's writes, in WCU/s. Default: the table's own provisioned throughput, on-demand maximum, or AWS's quota of 40000."`
}

// Validate returns an error for a wrong command line.
func (c *ThrottleCmd) Validate() error {
	engine, err := url.Parse(c.Before)
	switch {
	case err != nil || engine.Host == "" || !slices.Contains([]string{"http", "https"}, engine.Scheme):
		return fmt.Errorf("--before %q: want a URL such as http://127.0.0.1:8001", c.Before)
	case strings.Contains(engine.Hostname()+".", ".amazonaws.com.") || strings.HasSuffix(engine.Hostname(), ".api.aws"):
		return fmt.Errorf("--before %s is an endpoint of AWS, which checks signatures and throttles by itself: want an engine such as DynamoDB Local", c.Before)
	case c.Burst < time.Second || c.Burst > throttle.MaxBurst:
		return fmt.Errorf("--burst %v: want 1s to %v", c.Burst, throttle.MaxBurst)
	case c.PartitionRCU < 1:
		return fmt.Errorf("--partition-rcu %d: want at least 1", c.PartitionRCU)
	case c.SplitAfter != 0 && c.SplitAfter < time.Second || c.SplitAfter > throttle.MaxSplitAfter:
		return fmt.Errorf("--split-after %v: want 0, or 1s to %v", c.SplitAfter, throttle.MaxSplitAfter)
	case c.TransactionHold < 0 || c.TransactionHold > throttle.MaxTransactionHold:
		return fmt.Errorf("--transaction-hold %v: want 0 to %v", c.TransactionHold, throttle.MaxTransactionHold)
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return fmt.Errorf("--addr %q: want host:port", c.Addr)
	}
	return c.options().Validate()
}

func (c *ThrottleCmd) options() throttle.Options {
	return throttle.Options{
		Partitions: c.Partitions, PartitionWCU: c.PartitionWCU, PartitionRCU: c.PartitionRCU, TableWCU: c.TableWCU,
		Burst: c.Burst, SplitAfter: c.SplitAfter, TransactionHold: c.TransactionHold, Base: dynamolocal.Transport(),
	}
}

// handler returns the proxy. It rejects requests whose Host header does not fit --addr.
func (c *ThrottleCmd) handler() (http.Handler, error) {
	limiter, err := throttle.New(c.options())
	if err != nil {
		return nil, err
	}
	engine, err := url.Parse(c.Before)
	if err != nil {
		return nil, fmt.Errorf("--before %q: %w", c.Before, err)
	}
	return httpapi.ForHostsOf(c.Addr, limiter.Proxy(engine)), nil
}

// yieldToEngine leaves three quarters of the cores to the engine. With all, Go spends a sixth of the time waking
// threads. It also makes garbage collections rarer: each delays calls by milliseconds. GOMAXPROCS and GOGC take
// precedence.
func yieldToEngine() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/4))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
}

// Run serves the proxy until it is interrupted, which is no error.
func (c *ThrottleCmd) Run(ctx context.Context, std streams) error {
	yieldToEngine()
	handler, err := c.handler()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", c.Addr, err)
	}
	fmt.Fprintf(std.out, "the proxy is at http://%s/\n  before     %s\n  throttles  http://%[1]s/_throttle\n", listener.Addr(), c.Before)
	if host, _, _ := net.SplitHostPort(c.Addr); !httpapi.IsLoopback(host) {
		fmt.Fprintln(std.err, "hotshard: other machines can reach the proxy, which checks no credentials")
	}
	return serve(ctx, listener, handler)
}

// drainTimeout is how long a stopped server waits for requests in flight.
const drainTimeout = 5 * time.Second

// serve serves a handler until the context ends, which is no error, and then waits up to drainTimeout for requests.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if server.Shutdown(draining) != nil {
		return server.Close()
	}
	return nil
}
