package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// heatFlags has the flags for the source of heat: a table's stream, or the counts of a hotshard deployment.
type heatFlags struct {
	page string // the page of docs that lists the permissions; "" is docs/heat-from-a-laptop.md

	Table        string `copied:"table" placeholder:"NAME" help:"A table with a stream (explain needs none), by its name or ARN. Nothing is deployed, and the table is not changed."`
	Stack        bool   `help:"Instead of --table: the counts of a hotshard deployment, or of hotshard local."`
	Region       string `copied:"region" placeholder:"NAME" help:"AWS Region. Default: the environment's."`
	Endpoint     string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine instead of AWS."`
	TablesPrefix string `copied:"prefix" default:"hotshard-" help:"With --stack: prefix of its tables' names."`
	PartitionWCU int    `copied:"partition-wcu" name:"partition-wcu" default:"1000" help:"With --table: limit of a partition, in WCU/s. It is 1000 on AWS; for hotshard local, use its --partition-wcu."`
	Force        bool   `help:"With --table: read its stream until the first throttle, even if it has all the readers that it allows (two; of a global table one)."`
}

// Validate returns an error if the flags are invalid.
func (h *heatFlags) Validate() error {
	switch {
	case (h.Table != "") == h.Stack:
		return errors.New("want one of --table and --stack")
	case h.Force && h.Stack:
		return errors.New("--force needs --table")
	case h.PartitionWCU < 1:
		return fmt.Errorf("--partition-wcu %d: want at least 1", h.PartitionWCU)
	case h.PartitionWCU != awsPartitionWCU && h.Stack:
		return errors.New("--partition-wcu needs --table: a deployment knows its own limit")
	}
	_, region, _, err := dynamo.TableName(h.Table)
	switch {
	case err != nil:
		return fmt.Errorf("--table: %w", err)
	case h.Endpoint != "":
		return system.CheckEndpoint(h.Endpoint)
	case h.Region != "" && region != "" && region != h.Region:
		return fmt.Errorf("--region %s: the table of this ARN is in %s", h.Region, region)
	}
	return nil
}

// tableName returns the table's name, even if --table is its ARN. CloudWatch's dimensions have names, but a call of DynamoDB
// for a table of another account needs the ARN.
func (h *heatFlags) tableName() string {
	name, _, _, _ := dynamo.TableName(h.Table) // Validate found no error
	return name
}

// awsConfig returns the configuration for AWS or, with --endpoint, for an engine. It uses the environment's credentials for
// an engine, too, if there are any: some engines have a database for each access key.
func (h *heatFlags) awsConfig(ctx context.Context) (aws.Config, error) {
	const noRegion = "no AWS Region is set: use --region, set AWS_REGION, or use --endpoint for an engine on this machine"
	client := config.WithHTTPClient(streamClient())
	if h.Endpoint == "" {
		_, tableRegion, _, _ := dynamo.TableName(h.Table) // Validate found no error
		return loadAWSConfig(ctx, noRegion, client, config.WithRegion(cmp.Or(h.Region, tableRegion)))
	}
	cfg, err := loadAWSConfig(ctx, noRegion, client, config.WithRegion(h.Region), config.WithDefaultRegion(dynamolocal.Region),
		config.WithBaseEndpoint(h.Endpoint), config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if err != nil {
		return cfg, err
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		cfg.Credentials = awscredentials.NewStaticCredentialsProvider(dynamolocal.DefaultAccessKey, "local", "")
	}
	return cfg, nil
}

// attemptTimeout is the timeout of one attempt of a call. Then the connection counts as dead.
const attemptTimeout = 15 * time.Second

// streamClient returns an HTTP client that keeps a connection for each concurrent poll. The SDK adds AWS_CA_BUNDLE to it.
func streamClient() aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(attemptTimeout).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = live.MaxCalls
	})
}

// dynamoDB returns a client for tables. It does not check an engine's checksums: errors lack them, and the SDK would warn.
func (h *heatFlags) dynamoDB(cfg aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = h.Endpoint != "" })
}

// where returns the Region that is read or, with --endpoint, "this machine".
func (h *heatFlags) where(cfg aws.Config) string {
	if h.Endpoint != "" {
		return "this machine"
	}
	return cfg.Region
}

// deploymentHeat returns the heat of a deployment. It reads the newest window, so that a missing deployment is an error here.
func (h *heatFlags) deploymentHeat(ctx context.Context, cfg aws.Config) (*heatFeed, error) {
	client, names := h.dynamoDB(cfg), schema.NamesFor(h.TablesPrefix)
	reader := heat.WindowReader{Client: client, Table: names.Heat}
	now := time.Now()
	for _, err := range reader.Windows(ctx, now.Add(-live.Window), now, live.Window) {
		if err != nil {
			return nil, h.explainError(ctx, cfg, err)
		}
	}
	return &heatFeed{
		Source: reader, Settled: func() time.Time { return time.Now().Add(-heatItemLag) }, Shards: shardmap.New(client, names.ShardMap, shardmap.Options{}),
		ExplainError: func(ctx context.Context, err error) error { return h.explainError(ctx, cfg, err) },
		Name:         h.TablesPrefix + "*", Where: h.where(cfg), Indexes: []string{schema.ByGroup, schema.ByRank},
	}, nil
}

// findStream finds a table's stream, and prints its readers. Without --force a stream that allows no more readers is an error.
func (h *heatFlags) findStream(ctx context.Context, std streams, cfg aws.Config) (live.Found, error) {
	var mappings live.Mappings
	if h.Endpoint == "" {
		mappings = live.EventSourceMappings(lambdaClient(cfg))
	}
	found, err := live.FindStream(ctx, h.dynamoDB(cfg), mappings, h.Table)
	if err != nil {
		return found, h.explainError(ctx, cfg, err)
	}
	fmt.Fprintln(std.err, visible(found.Line()))
	if err := found.TooMany(); err != nil && !h.Force {
		return found, err
	}
	if note := found.Note(); note != "" {
		fmt.Fprintln(std.err, visible(note))
	}
	return found, nil
}

func lambdaClient(cfg aws.Config) *load.APIClient {
	base := "https://lambda." + cfg.Region + ".amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		base += ".cn"
	}
	if cfg.BaseEndpoint != nil {
		base = *cfg.BaseEndpoint
	}
	return &load.APIClient{Base: base, Sign: load.SignAs(cfg.Credentials, "lambda", cfg.Region), HTTP: &http.Client{Timeout: attemptTimeout}}
}

// tableHeat returns the heat of a table's stream, which the caller reads with Run. Of options it keeps only AtOnce.
func (h *heatFlags) tableHeat(ctx context.Context, std streams, cfg aws.Config, options live.Options) (*heatFeed, error) {
	found, err := h.findStream(ctx, std, cfg)
	if err != nil {
		return nil, err
	}
	var printing sync.Mutex
	options.Streams, options.Found, options.PartitionWCU = dynamodbstreams.NewFromConfig(cfg), found, float64(h.PartitionWCU)
	options.Notify = func(sentence string) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintln(std.err, visible(sentence))
	}
	reader := live.New(options)
	return &heatFeed{
		Source: reader, Settled: reader.Settled,
		ExplainError: func(ctx context.Context, err error) error { return h.explainError(ctx, cfg, err) },
		Name:         h.tableName(), Where: h.where(cfg), Indexes: found.Indexes(),
		Run: func(ctx context.Context) error { return h.explainError(ctx, cfg, reader.Run(ctx)) },
	}, nil
}
