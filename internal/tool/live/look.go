package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// Mappings lists the Lambda functions whose event source mappings read a stream.
type Mappings func(ctx context.Context, streamARN string) (functions []string, err error)

// Found describes a table's stream, and the known readers of the stream.
type Found struct {
	Source heat.CountedTable
	Stream string // its ARN
	View   types.StreamViewType

	// Mappings has the function's name of each event source mapping that reads the stream. Unlisted is the error of listing them.
	Mappings []string
	Unlisted error
	noLambda bool // whether there is no Lambda, so that mappings were not listed
}

// Readers per stream shard, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing
const (
	maxReaders       = 2
	maxGlobalReaders = 1 // of a global table: replication is the other reader
)

// FindStream finds a table's stream and its readers. table is a name or an ARN. mappings is nil if there is no Lambda. The
// error of a table without a stream is ErrNoStream. A failure of mappings is no error: see Found.Unlisted.
func FindStream(ctx context.Context, tables dynamodb.DescribeTableAPIClient, mappings Mappings, table string) (Found, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return Found{}, fmt.Errorf("describing table %s: %w", table, err)
	}
	description := out.Table
	if description == nil || description.LatestStreamArn == nil || description.StreamSpecification == nil || !aws.ToBool(description.StreamSpecification.StreamEnabled) {
		return Found{}, ErrNoStream
	}
	found := Found{Stream: *description.LatestStreamArn, View: description.StreamSpecification.StreamViewType, noLambda: mappings == nil}
	if found.Source, err = heat.ParseTable(description); err != nil {
		return Found{}, eventsource.Final(fmt.Errorf("table %s: %w", table, err))
	}
	if mappings != nil {
		found.Mappings, found.Unlisted = mappings(ctx, found.Stream)
	}
	return found, nil
}

// ErrNoStream is the error of a table without a stream.
var ErrNoStream = errors.New("the table has no stream")

// allowedReaders returns how many readers a stream shard allows, besides replication.
func (f Found) allowedReaders() int {
	if len(f.Source.Replicas) > 0 {
		return maxGlobalReaders
	}
	return maxReaders
}

// Line returns a sentence with the stream's known readers, its limit of readers, and a global table's replicas.
func (f Found) Line() string {
	limit := "limit 2 per shard"
	if f.allowedReaders() == 1 {
		limit = "limit 1 per shard besides replication"
	}
	text := ""
	switch n := len(f.Mappings); {
	case f.noLambda:
		text = "Local engine: can't check for other stream readers"
	case f.Unlisted != nil:
		text = fmt.Sprintf("Can't check which Lambda functions read the stream of %s: %v", f.Source.Table, f.Unlisted)
	case n == 0:
		text = fmt.Sprintf("No Lambda function reads the stream of %s", f.Source.Table)
	case n == 1:
		text = fmt.Sprintf("1 Lambda function reads the stream of %s: %s", f.Source.Table, f.Mappings[0])
	default:
		text = fmt.Sprintf("%d Lambda functions read the stream of %s: %s", n, f.Source.Table, strings.Join(f.Mappings, ", "))
	}
	if len(f.Source.Replicas) > 0 {
		text += "; global table with replicas in " + strings.Join(f.Source.Replicas, ", ")
	}
	return text + " (" + limit + ")."
}

// TooMany returns an error if the stream has as many known readers as it allows, so that another might throttle them.
func (f Found) TooMany() error {
	if len(f.Mappings) < f.allowedReaders() {
		return nil
	}
	limit := "a stream shard allows 2 readers"
	if len(f.Source.Replicas) > 0 {
		limit = "a stream shard of a global table allows 1 reader"
	}
	return eventsource.Final(fmt.Errorf("%s at once, and another could throttle them, so nothing was read: stop a reader, or use --force to read until the first throttle", limit))
}

// Indexes returns the names of the table's global indexes.
func (f Found) Indexes() (names []string) {
	for _, x := range f.Source.Indexes {
		if x.Name != "" {
			names = append(names, x.Name)
		}
	}
	return names
}

// Note returns a sentence on why the stream's write units are lower bounds, or "" if they are exact.
func (f Found) Note() string {
	if f.View == types.StreamViewTypeNewAndOldImages {
		return ""
	}
	return fmt.Sprintf("The stream's view type is %s, so write units are lower bounds; with %s they are exact.", f.View, types.StreamViewTypeNewAndOldImages)
}

// errDenied is the error of Mappings for a caller without permission.
var errDenied = errors.New("access denied to lambda:ListEventSourceMappings")

// EventSourceMappings returns a function that lists a stream's active mappings. The client must sign calls for AWS Lambda.
func EventSourceMappings(client *load.APIClient) Mappings {
	return func(ctx context.Context, streamARN string) (functions []string, err error) {
		query := url.Values{"EventSourceArn": {streamARN}}
		for range eventsource.MaxPages {
			page, err := listMappings(ctx, client, query)
			if err != nil {
				return nil, err
			}
			for _, m := range page.EventSourceMappings {
				if !slices.Contains([]string{"Disabled", "Disabling", "Deleting"}, m.State) {
					functions = append(functions, functionName(m.FunctionArn))
				}
			}
			if page.NextMarker == "" {
				return functions, nil
			}
			query.Set("Marker", page.NextMarker)
		}
		return nil, fmt.Errorf("lambda:ListEventSourceMappings has more than %d pages for stream %s", eventsource.MaxPages, streamARN)
	}
}

// mappingPage is a response of lambda:ListEventSourceMappings.
type mappingPage struct {
	EventSourceMappings []struct{ FunctionArn, State string }
	NextMarker          string // "" on the last page
}

func listMappings(ctx context.Context, client *load.APIClient, query url.Values) (page mappingPage, err error) {
	err = client.Call(ctx, http.MethodGet, "/2015-03-31/event-source-mappings/?"+query.Encode(), "", nil, &page)
	if fault, ok := errors.AsType[*load.CallError](err); ok && fault.Status == http.StatusForbidden {
		return page, errDenied
	}
	if err != nil {
		return page, fmt.Errorf("lambda:ListEventSourceMappings: %w", err)
	}
	return page, nil
}

// functionName returns the name in an ARN such as arn:aws:lambda:eu-west-1:1:function:name:alias.
func functionName(arn string) string {
	if _, name, ok := strings.Cut(arn, ":function:"); ok {
		return name
	}
	return arn
}
