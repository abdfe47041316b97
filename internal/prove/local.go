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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/system"
)

// Local is the system on this machine, as Lambda and DynamoDB would have it: containers with one
// request at a time, cold starts, a quota, and partitions with limits, few at first, that split.
type Local struct {
	Endpoint     string // of an engine; "" starts one
	PartitionWCU int    // of a partition in storms
	// Client are options of the client for the run's own calls.
	Client  []func(*dynamodb.Options)
	Notices io.Writer // of an engine that is started
}

// The model. Partitions are those of a fresh table on AWS. A storm's limits are scaled down, and
// with them the time until a partition splits, which takes AWS minutes.
const (
	localPartitions  = 4
	localConcurrency = 100
	localColdStart   = 250 * time.Millisecond
	localSplit       = 15 * time.Second
	localHold        = 5 * time.Millisecond
	localWindow      = 10 * time.Second
	awsPartitionWCU  = 1000
)

// About says what the machine is taken for.
func (l Local) About() string {
	return fmt.Sprintf("this machine: %d partitions of %d write units a second at first (%d for keyed calls), which split after %v; %d containers at most, %v to start one; a transaction holds its items for %v",
		localPartitions, l.PartitionWCU, awsPartitionWCU, localSplit, localConcurrency, localColdStart, localHold)
}

func (l Local) note(ctx context.Context, r *Record) (func() error, error) {
	if l.Endpoint != "" {
		r.Endpoint = l.Endpoint
		return func() error { return nil }, system.CheckEngine(ctx, l.Endpoint)
	}
	engine, err := local.StartEngine(ctx, local.Options{SharedDB: true, Notice: l.Notices})
	if err != nil {
		return nil, err
	}
	r.Endpoint, r.OwnEngine = engine.Endpoint(), true
	return engine.Stop, nil
}

// limits are those of a stage. Keyed calls are about transactions, not about partitions.
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
		_ = os.RemoveAll(folder) // the error is the other
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

// billedBy is what AWS would bill, as the limiter and the pools counted it.
func billedBy(s *system.System) Units {
	charged := s.Charged()
	u := Units{WriteUnits: charged.WriteUnits, ReadUnits: charged.ReadUnits}
	for _, pool := range s.Containers() {
		u.Requests += float64(pool.Requests)
		u.Invocations += float64(pool.Requests - pool.Refused())
	}
	return u
}

// client reaches the engine.
func (l Local) client(endpoint string) *dynamodb.Client {
	return local.DynamoDB(endpoint, "", l.Client...)
}

func (l Local) cleaner(ctx context.Context, r Record) (*cleaner, error) {
	c := &cleaner{record: r, tables: l.client(r.Endpoint), pause: localPause, tries: localTries}
	if r.OwnEngine && system.CheckEngine(ctx, r.Endpoint) != nil {
		c.tables = gone{} // it ended with its run, and its memory with it
	}
	return c, nil
}

// A removal on this machine takes milliseconds.
const (
	localPause = 300 * time.Millisecond
	localTries = 40
)

// gone has no tables.
type gone struct{}

func (gone) ListTables(context.Context, *dynamodb.ListTablesInput, ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	return &dynamodb.ListTablesOutput{TableNames: []string{}}, nil
}

func (gone) DeleteTable(_ context.Context, in *dynamodb.DeleteTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	return nil, fmt.Errorf("table %s is not there", aws.ToString(in.TableName))
}
