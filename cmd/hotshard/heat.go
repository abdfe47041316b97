package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/awscall"
	"github.com/hotshard/hotshard/internal/heat/windows"
	"github.com/hotshard/hotshard/internal/heatview"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/system"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/terminal"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// heatFrom says whose heat is shown: that of any table, from its stream, or what a deployment
// of hotshard has counted.
type heatFrom struct {
	Table        string `placeholder:"NAME" help:"Any table, by the stream that it has. Nothing is deployed, and nothing of it is changed."`
	Stack        bool   `help:"Instead: what a deployment of hotshard, or hotshard local, has counted."`
	Region       string `placeholder:"NAME" help:"AWS Region. Default: the environment's."`
	Endpoint     string `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine instead of AWS."`
	TablesPrefix string `default:"hotshard-" placeholder:"TEXT" help:"With --stack: of the names of its tables."`
	PartitionWCU int    `name:"partition-wcu" default:"1000" help:"With --table: write units a second that a partition takes. AWS has 1000, hotshard local what its own flag says."`
	Force        bool   `help:"With --table: read its stream even if that is one reader too many for it, until the first throttle."`
}

// Validate finds faults of the command line.
func (h *heatFrom) Validate() error {
	switch {
	case (h.Table == "") != h.Stack:
		return errors.New("want one of --table and --stack")
	case h.Force && h.Stack:
		return errors.New("--force is for --table")
	case h.PartitionWCU < 1:
		return fmt.Errorf("--partition-wcu %d: want at least 1", h.PartitionWCU)
	case h.PartitionWCU != awsPartitionWCU && h.Stack:
		return errors.New("--partition-wcu is for --table: a deployment knows its own")
	case h.Endpoint != "":
		return system.CheckEndpoint(h.Endpoint)
	}
	return nil
}

// config is that of the environment, or of the endpoint. An engine that tells databases apart
// by access keys is called with the environment's, where there is one.
func (h *heatFrom) config(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(streamClient()), config.WithRegion(h.Region)}
	if h.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(h.Endpoint), config.WithEC2IMDSClientEnableState(imds.ClientDisabled), config.WithDefaultRegion(local.Region))
	}
	c, err := environment(ctx, "no AWS Region is set: give --region, set AWS_REGION, or give --endpoint for an engine on this machine", options...)
	if err != nil || h.Endpoint == "" {
		return c, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		c.Credentials = awscredentials.NewStaticCredentialsProvider(local.DefaultAccessKey, "local", "")
	}
	return c, nil
}

// streamClient has a connection for each poll under way, and heeds AWS_CA_BUNDLE.
func streamClient() aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(callTime).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = live.MaxCalls
	})
}

// dynamoDB is a client for tables. An engine sends no checksum with errors, which the SDK would warn of.
func (h *heatFrom) dynamoDB(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = h.Endpoint != "" })
}

// where names what is read.
func (h *heatFrom) where(c aws.Config) string {
	if h.Endpoint != "" {
		return "this machine"
	}
	return c.Region
}

// open finds the heat. Since is from when on it is wanted; zero is now.
func (h *heatFrom) open(ctx context.Context, std streams, since time.Time) (*heatview.Watched, error) {
	c, err := h.config(ctx)
	if err != nil {
		return nil, err
	}
	if h.Stack {
		return h.openStack(c), nil
	}
	return h.openTable(ctx, std, c, live.Options{Since: since, AtOnce: since.IsZero()})
}

// openStack finds what a deployment has counted.
func (h *heatFrom) openStack(c aws.Config) *heatview.Watched {
	client, names := h.dynamoDB(c), schema.NamesFor(h.TablesPrefix)
	reader, shards := windows.Reader{Client: client, Table: names.Heat}, shardmap.New(client, names.ShardMap, shardmap.Options{})
	return heatview.Counted(reader, shards, h.TablesPrefix+"*", h.where(c))
}

// look finds a table's stream, says who reads it, and refuses to be one reader too many.
func (h *heatFrom) look(ctx context.Context, std streams, c aws.Config) (live.Found, error) {
	var mappings live.Mappings
	if h.Endpoint == "" {
		mappings = live.EventSourceMappings(awscall.New(c))
	}
	found, err := live.Look(ctx, h.dynamoDB(c), mappings, h.Table)
	if err != nil {
		return found, h.explain(err)
	}
	fmt.Fprintln(std.err, terminal.Visible(found.Line()))
	if err := found.TooMany(); err != nil && !h.Force {
		return found, err
	}
	for _, note := range found.Notes() {
		fmt.Fprintln(std.err, terminal.Visible(note))
	}
	return found, nil
}

// openTable reads a table's stream as the options say.
func (h *heatFrom) openTable(ctx context.Context, std streams, c aws.Config, o live.Options) (*heatview.Watched, error) {
	found, err := h.look(ctx, std, c)
	if err != nil {
		return nil, err
	}
	told := heatview.NewNotices(func(sentence string) { fmt.Fprintln(std.err, terminal.Visible(sentence)) })
	o.Streams, o.Found, o.Tell, o.PartitionWCU = dynamodbstreams.NewFromConfig(c), found, told.Take, float64(h.PartitionWCU)
	reader := live.New(o)
	return &heatview.Watched{Source: reader, Settled: reader.Settled, Run: reader.Run, Notices: told, Name: h.Table, Where: h.where(c)}, nil
}

// explain says in few words why a table can't be looked at.
func (h *heatFrom) explain(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok && h.Endpoint != "" {
		return fmt.Errorf("no DynamoDB-compatible engine at %s: %w", h.Endpoint, unsent.Err)
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		hint := ""
		if h.Endpoint != "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
			hint = "; an engine may have a database for each access key and Region: set AWS_ACCESS_KEY_ID and AWS_REGION to those of the table's writers"
		}
		return fmt.Errorf("there is no table %s here%s", h.Table, hint)
	}
	return err
}
