package prove

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// Local is the system on this machine under models of Lambda and DynamoDB: containers with one request at a time, cold
// starts, a quota, and partitions that split.
type Local struct {
	Endpoint     string // URL of an engine; "" starts one
	PartitionWCU int    // limit of a partition in storms
	// Client has options of the client for the run's own calls.
	Client  []func(*dynamodb.Options)
	Notices io.Writer // output of an engine that is started
}

// The model has the partitions of a new table on AWS. A storm's limits are scaled down, and so is the time until a
// partition splits, which is minutes on AWS.
const (
	localPartitions  = 4
	localConcurrency = 100
	localColdStart   = 250 * time.Millisecond
	localSplit       = 15 * time.Second
	localHold        = 5 * time.Millisecond
	localWindow      = 10 * time.Second
	awsPartitionWCU  = 1000
)

// About returns one line with the model.
func (l Local) About() string {
	return fmt.Sprintf("this machine: %d partitions of %d WCU/s at first (%d for keyed calls), which split after %v; %d containers at most, %v to start one; a transaction holds its items for %v",
		localPartitions, l.PartitionWCU, awsPartitionWCU, localSplit, localConcurrency, localColdStart, localHold)
}

func (l Local) storeRecord(ctx context.Context, r *Record) (func() error, error) {
	if l.Endpoint != "" {
		r.Endpoint = l.Endpoint
		return func() error { return nil }, system.CheckEngine(ctx, l.Endpoint)
	}
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{SharedDB: true, Notice: l.Notices})
	if err != nil {
		return nil, err
	}
	r.Endpoint, r.OwnEngine = engine.Endpoint(), true
	return engine.Stop, nil
}

// limits returns the limits of a stage. Keyed calls measure transactions, so their partitions have AWS's limit.
func (l Local) limits(s stage) system.Limits {
	limits := system.Limits{Partitions: localPartitions, PartitionWCU: l.PartitionWCU, SplitAfter: localSplit, TransactionHold: localHold}
	if s == conflicts {
		limits.PartitionWCU = awsPartitionWCU
	}
	return limits
}

func (l Local) start(ctx context.Context, r Record, s stage, _ *note) (*running, error) {
	folder, err := os.MkdirTemp("", "prove")
	if err != nil {
		return nil, err
	}
	started, err := system.Start(ctx, system.Options{
		Addr: "127.0.0.1:0", Endpoint: r.Endpoint, Prefix: r.Prefix(), Window: localWindow, Control: "act", Limits: l.limits(s),
		Lambda:   system.Lambda{Concurrency: localConcurrency, ColdStart: localColdStart},
		Failures: filepath.Join(folder, "failures.jsonl"), Notices: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		_ = os.RemoveAll(folder) // the first error is returned
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- started.Run(ctx) }()
	return &running{
		api: started.URL(), db: l.client(started.LimitedEndpoint()),
		billed: func(context.Context) (Units, error) { return billedBy(started), nil },
		stop: func() error {
			cancel()
			err := <-ended
			return cmp.Or(err, os.RemoveAll(folder))
		},
	}, nil
}

// billedBy returns what AWS would bill, as counted by the limiter and the pools.
func billedBy(s *system.System) Units {
	charged := s.Charged()
	u := Units{WriteUnits: charged.WriteUnits, ReadUnits: charged.ReadUnits}
	for _, pool := range s.Containers() {
		u.Requests += float64(pool.Requests)
		u.Invocations += float64(pool.Requests - pool.Refused())
	}
	return u
}

// client returns a client of the engine.
func (l Local) client(endpoint string) *dynamodb.Client {
	return dynamolocal.DynamoDB(endpoint, "", l.Client...)
}

func (l Local) cleaner(ctx context.Context, r Record) (*cleaner, error) {
	if r.OwnEngine && system.CheckEngine(ctx, r.Endpoint) != nil {
		return nil, nil // the engine ended with its run, and its data is gone
	}
	return &cleaner{record: r, tables: l.client(r.Endpoint), pause: localPause, tries: localTries}, nil
}

// A removal on this machine takes milliseconds.
const (
	localPause = 300 * time.Millisecond
	localTries = 40
)
