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

// heatFrom has the flags for the source of heat: a table's stream, or the counts of a hotshard deployment.
type heatFrom struct {
	page string // the page of docs with the permissions; "" is docs/heat-from-a-laptop.md

	Table        string `copied:"table" placeholder:"NAME" help:"A table with a stream (explain needs none), by its name or ARN. Nothing is deployed, and the table is not changed."`
	Stack        bool   `help:"Instead of --table: the counts of a hotshard deployment, or of hotshard local."`
	Region       string `copied:"region" placeholder:"NAME" help:"AWS Region. Default: the environment's."`
	Endpoint     string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine instead of AWS."`
	TablesPrefix string `copied:"prefix" default:"hotshard-" placeholder:"TEXT" help:"With --stack: prefix of its tables' names."`
	PartitionWCU int    `copied:"partition-wcu" name:"partition-wcu" default:"1000" help:"With --table: limit of a partition, in WCU/s. It is 1000 on AWS; for hotshard local, use its --partition-wcu."`
	Force        bool   `help:"With --table: read its stream until the first throttle, even if it has all the readers that it allows (two; of a global table one)."`
}

// Validate returns an error if the flags are invalid.
func (h *heatFrom) Validate() error {
	switch {
	case (h.Table == "") != h.Stack:
		return errors.New("want one of --table and --stack")
	case h.Force && h.Stack:
		return errors.New("--force needs --table")
	case h.nameFault() != nil:
		return h.nameFault()
	case h.PartitionWCU < 1:
		return fmt.Errorf("--partition-wcu %d: want at least 1", h.PartitionWCU)
	case h.PartitionWCU != awsPartitionWCU && h.Stack:
		return errors.New("--partition-wcu needs --table: a deployment knows its own limit")
	case h.Endpoint != "":
		return system.CheckEndpoint(h.Endpoint)
	}
	return nil
}

// nameFault returns an error if --table is an ARN of something else, or of another Region than --region.
func (h *heatFrom) nameFault() error {
	_, region, _, err := dynamo.TableName(h.Table)
	switch {
	case err != nil:
		return fmt.Errorf("--table: %w", err)
	case h.Endpoint == "" && h.Region != "" && region != "" && region != h.Region:
		return fmt.Errorf("--region %s: the table of this ARN is in %s", h.Region, region)
	}
	return nil
}

// tableName returns the table's name, which CloudWatch's dimensions have. --table may be an ARN, which calls of DynamoDB
// need for a table of another account.
func (h *heatFrom) tableName() string {
	name, _, _, _ := dynamo.TableName(h.Table) // Validate found no error
	return name
}

// config returns the configuration for AWS or, with --endpoint, for an engine. An engine gets the environment's credentials,
// too, if there are any: some engines have a database for each access key.
func (h *heatFrom) config(ctx context.Context) (aws.Config, error) {
	_, region, _, _ := dynamo.TableName(h.Table) // Validate found no error
	if h.Endpoint != "" {
		region = "" // an engine's ARNs may have any Region
	}
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(streamClient()), config.WithRegion(cmp.Or(h.Region, region))}
	if h.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(h.Endpoint), config.WithEC2IMDSClientEnableState(imds.ClientDisabled), config.WithDefaultRegion(dynamolocal.Region))
	}
	c, err := environment(ctx, "no AWS Region is set: use --region, set AWS_REGION, or use --endpoint for an engine on this machine", options...)
	if err != nil {
		return c, err
	}
	if h.Endpoint == "" {
		return c, nil
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		c.Credentials = awscredentials.NewStaticCredentialsProvider(dynamolocal.DefaultAccessKey, "local", "")
	}
	return c, nil
}

// pollTime is the timeout of one attempt of a call, after which the connection counts as dead.
const pollTime = 15 * time.Second

// streamClient returns a client with a connection for each poll in flight. It uses AWS_CA_BUNDLE.
func streamClient() aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(pollTime).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = live.MaxCalls
	})
}

// dynamoDB returns a client for tables. It ignores missing checksums in an engine's errors: the SDK would warn of them.
func (h *heatFrom) dynamoDB(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = h.Endpoint != "" })
}

// where returns the Region that is read, or "this machine".
func (h *heatFrom) where(c aws.Config) string {
	if h.Endpoint != "" {
		return "this machine"
	}
	return c.Region
}

// openStack returns the heat of a deployment. It reads one window, so that a missing deployment is an error here.
func (h *heatFrom) openStack(ctx context.Context, c aws.Config) (*heatFeed, error) {
	client, names := h.dynamoDB(c), schema.NamesFor(h.TablesPrefix)
	reader, shards := heat.WindowReader{Client: client, Table: names.Heat}, shardmap.New(client, names.ShardMap, shardmap.Options{})
	now := time.Now()
	for _, err := range reader.Windows(ctx, now.Add(-live.Window), now, live.Window) {
		if err != nil {
			return nil, h.explain(ctx, c, err)
		}
	}
	return &heatFeed{
		Source: reader, Settled: func() time.Time { return time.Now().Add(-lag) }, Shards: shards, Explain: h.explainer(c),
		Name: h.TablesPrefix + "*", Where: h.where(c),
	}, nil
}

// findStream finds a table's stream and prints its readers. Without --force it returns an error if the stream allows no
// more readers.
func (h *heatFrom) findStream(ctx context.Context, std streams, c aws.Config) (live.Found, error) {
	var mappings live.Mappings
	if h.Endpoint == "" {
		mappings = live.EventSourceMappings(lambdaClient(c))
	}
	found, err := live.FindStream(ctx, h.dynamoDB(c), mappings, h.Table)
	if err != nil {
		return found, h.explain(ctx, c, err)
	}
	fmt.Fprintln(std.err, visible(found.Line()))
	if err := found.TooMany(); err != nil && !h.Force {
		return found, err
	}
	for _, note := range found.Notes() {
		fmt.Fprintln(std.err, visible(note))
	}
	return found, nil
}

func lambdaClient(c aws.Config) *load.APIClient {
	base := "https://lambda." + c.Region + ".amazonaws.com"
	if strings.HasPrefix(c.Region, "cn-") {
		base += ".cn"
	}
	if c.BaseEndpoint != nil {
		base = *c.BaseEndpoint
	}
	return &load.APIClient{Base: base, Sign: load.SignAs(c.Credentials, "lambda", c.Region), HTTP: &http.Client{Timeout: pollTime}}
}

// openTable reads a table's stream with these options.
func (h *heatFrom) openTable(ctx context.Context, std streams, c aws.Config, o live.Options) (*heatFeed, error) {
	found, err := h.findStream(ctx, std, c)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	o.Streams, o.Found, o.PartitionWCU = dynamodbstreams.NewFromConfig(c), found, float64(h.PartitionWCU)
	o.Notify = func(sentence string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(std.err, visible(sentence))
	}
	reader := live.New(o)
	return &heatFeed{
		Source: reader, Settled: reader.Settled, Explain: h.explainer(c), Name: h.tableName(), Where: h.where(c), Indexes: found.Indexes(),
		Run: func(ctx context.Context) error { return h.explain(ctx, c, reader.Run(ctx)) },
	}, nil
}
