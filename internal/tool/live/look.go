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

	// Mappings has the functions that read the stream, one per event source mapping. Unlisted is the
	// error of listing them, or nil.
	Mappings []string
	Unlisted error
	noLambda bool // there is no Lambda to list mappings of
}

// Readers per stream shard, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing
const (
	maxReaders       = 2
	maxGlobalReaders = 1 // of a global table: replication is the other reader
)

// FindStream finds a table's stream and its readers. mappings is nil if there is no Lambda. It returns
// ErrNoStream if the table has no stream.
func FindStream(ctx context.Context, tables dynamodb.DescribeTableAPIClient, mappings Mappings, table string) (Found, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return Found{}, fmt.Errorf("describing table %s: %w", table, err)
	}
	t := out.Table
	if t == nil || t.StreamSpecification == nil || !aws.ToBool(t.StreamSpecification.StreamEnabled) || t.LatestStreamArn == nil {
		return Found{}, noStreamError(table)
	}
	f := Found{Stream: *t.LatestStreamArn, View: t.StreamSpecification.StreamViewType}
	if f.Source, err = heat.ParseTable(t); err != nil {
		return Found{}, eventsource.Final(fmt.Errorf("table %s: %w", table, err))
	}
	f.noLambda = mappings == nil
	if !f.noLambda {
		f.Mappings, f.Unlisted = mappings(ctx, f.Stream)
	}
	return f, nil
}

// ErrNoStream is the error of a table without a stream.
var ErrNoStream = errors.New("the table has no stream")

// noStreamError has the command that enables a table's stream.
type noStreamError string

func (table noStreamError) Error() string {
	return fmt.Sprintf("Table %q has no stream to read its writes from; to enable one, run: aws dynamodb update-table --table-name %s --stream-specification StreamEnabled=true,StreamViewType=%s",
		string(table), string(table), types.StreamViewTypeNewAndOldImages)
}

func (noStreamError) Is(target error) bool { return target == ErrNoStream }

func (f Found) allowedReaders() int {
	if len(f.Source.Replicas) > 0 {
		return maxGlobalReaders
	}
	return maxReaders
}

// Line returns one line that names the stream's readers.
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
		text = fmt.Sprintf("Can't check which Lambda functions read the stream of %s: %s", f.Source.Table, reason(f.Unlisted))
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

// reason returns a short reason why mappings could not be listed.
func reason(err error) string {
	if errors.Is(err, errDenied) {
		return "access denied to lambda:ListEventSourceMappings"
	}
	return err.Error()
}

// TooMany returns an error if the stream already has as many known readers as it allows, else nil.
func (f Found) TooMany() error {
	if len(f.Mappings) < f.allowedReaders() {
		return nil
	}
	limit := "a stream shard allows 2 readers"
	if len(f.Source.Replicas) > 0 {
		limit = "a stream shard of a global table allows 1 reader"
	}
	return eventsource.Final(fmt.Errorf("%s at once, and another could throttle them, so nothing was read (--force reads until the first throttle)", limit))
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

// Notes returns sentences on what this stream's counts lack.
func (f Found) Notes() (notes []string) {
	if f.View != types.StreamViewTypeNewAndOldImages {
		notes = append(notes, fmt.Sprintf("The stream's view type is %s, so write units are lower bounds; with %s they are exact.", f.View, types.StreamViewTypeNewAndOldImages))
	}
	return notes
}

// errDenied is the error of a call without permission.
var errDenied = errors.New("access denied")

// EventSourceMappings lists mappings at AWS Lambda, with one call per 100 mappings. The client signs for Lambda.
func EventSourceMappings(client *load.APIClient) Mappings {
	return func(ctx context.Context, streamARN string) (functions []string, err error) {
		query := url.Values{"EventSourceArn": {streamARN}}
		for range eventsource.MaxPages {
			page, err := mappingPage(ctx, client, query)
			if err != nil {
				return nil, fmt.Errorf("lambda:ListEventSourceMappings: %w", err)
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
		return nil, fmt.Errorf("lambda:ListEventSourceMappings: stream %s has more than %d pages", streamARN, eventsource.MaxPages)
	}
}

type mappings struct {
	EventSourceMappings []struct{ FunctionArn, State string }
	NextMarker          string
}

func mappingPage(ctx context.Context, client *load.APIClient, query url.Values) (page mappings, err error) {
	err = client.Call(ctx, http.MethodGet, "/2015-03-31/event-source-mappings/?"+query.Encode(), "", nil, &page)
	if fault, ok := errors.AsType[*load.CallError](err); ok && fault.Status == http.StatusForbidden {
		err = errDenied
	}
	return page, err
}

// functionName returns the name in an ARN such as arn:aws:lambda:eu-west-1:1:function:name:alias.
func functionName(arn string) string {
	if _, name, ok := strings.Cut(arn, ":function:"); ok {
		return name
	}
	return arn
}
