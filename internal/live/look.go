package live

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/awscall"
	"github.com/hotshard/hotshard/internal/heat/count"
)

// Describer describes tables.
type Describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Mappings lists the Lambda functions that event source mappings read a stream for.
type Mappings func(ctx context.Context, streamARN string) (functions []string, err error)

// Found is what there was to know of a table before its stream is read.
type Found struct {
	Source count.Source
	Stream string // its ARN
	View   types.StreamViewType

	// Mappings are the functions that read the stream, one for each event source mapping.
	// Unlisted is why they are not known; nil where they are.
	Mappings []string
	Unlisted error
	noLambda bool // there is none to ask
}

// Readers that a stream shard takes, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing
const (
	maxReaders       = 2
	maxGlobalReaders = 1 // of a global table's: replication takes the other
)

// Look finds a table's stream and who reads it. Mappings may be nil, where there is no Lambda.
func Look(ctx context.Context, tables Describer, mappings Mappings, table string) (Found, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return Found{}, fmt.Errorf("describing table %s: %w", table, err)
	}
	t := out.Table
	if t == nil || t.StreamSpecification == nil || !aws.ToBool(t.StreamSpecification.StreamEnabled) || t.LatestStreamArn == nil {
		return Found{}, noStream(table)
	}
	f := Found{Stream: *t.LatestStreamArn, View: t.StreamSpecification.StreamViewType}
	if f.Source, err = count.Describe(t); err != nil {
		return Found{}, fmt.Errorf("table %s: %w", table, err)
	}
	if f.noLambda = mappings == nil; !f.noLambda {
		f.Mappings, f.Unlisted = mappings(ctx, f.Stream)
	}
	return f, nil
}

func noStream(table string) error {
	return fmt.Errorf("table %s has no stream, which is where its writes are read from. This turns one on: aws dynamodb update-table --table-name %s --stream-specification StreamEnabled=true,StreamViewType=%s",
		table, table, types.StreamViewTypeNewAndOldImages)
}

func (f Found) allowed() int {
	if len(f.Source.Replicas) > 0 {
		return maxGlobalReaders
	}
	return maxReaders
}

// Line says in one line who reads the stream.
func (f Found) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stream of %s: ", f.Source.Table)
	switch n := len(f.Mappings); {
	case f.noLambda:
		b.WriteString("there is no Lambda here to ask who reads it")
	case f.Unlisted != nil:
		fmt.Fprintf(&b, "which Lambda functions read it is not known (%s)", reason(f.Unlisted))
	case n == 0:
		b.WriteString("no event source mapping reads it")
	case n == 1:
		fmt.Fprintf(&b, "an event source mapping reads it, for %s", f.Mappings[0])
	default:
		fmt.Fprintf(&b, "%d event source mappings read it, for %s", n, strings.Join(f.Mappings, ", "))
	}
	if n := len(f.Source.Replicas); n > 0 {
		fmt.Fprintf(&b, "; the table is global, with replicas in %s", strings.Join(f.Source.Replicas, ", "))
	}
	readers := "2 readers"
	if f.allowed() == 1 {
		readers = "one reader besides replication"
	}
	fmt.Fprintf(&b, "; a stream shard takes %s", readers)
	return b.String()
}

// reason is why mappings could not be listed, in few words.
func reason(err error) string {
	if awscall.Denied(err) {
		return "these credentials may not list them: lambda:ListEventSourceMappings"
	}
	return err.Error()
}

// TooMany is an error if one more reader would be one too many, as far as is known.
func (f Found) TooMany() error {
	if len(f.Mappings) < f.allowed() {
		return nil
	}
	why := ""
	if len(f.Source.Replicas) > 0 {
		why = " of a global table"
	}
	return fmt.Errorf("a stream shard%s takes %d of them, and this would be one too many: it could throttle the others, so nothing was read (--force reads all the same, until the first throttle)",
		why, f.allowed())
}

// OfEngine tells whether the stream is DynamoDB Local's, which stamps records to the minute.
func (f Found) OfEngine() bool { return (&stream{arn: f.Stream}).ofEngine() }

// Notes are sentences on what the counts of this stream can't show.
func (f Found) Notes() (notes []string) {
	if f.View != types.StreamViewTypeNewAndOldImages {
		notes = append(notes, fmt.Sprintf("the stream's view type is %s, so write units are lower bounds: with %s they are exact", f.View, types.StreamViewTypeNewAndOldImages))
	}
	if len(f.Source.Uncounted) > 0 {
		notes = append(notes, "not counted, as vector indexes and indexes with keys of several attributes are not: "+strings.Join(f.Source.Uncounted, ", "))
	}
	return notes
}

// EventSourceMappings lists mappings at AWS Lambda. It makes one call for each 100 of them.
func EventSourceMappings(c *awscall.Client) Mappings {
	return func(ctx context.Context, streamARN string) (functions []string, err error) {
		query := url.Values{"EventSourceArn": {streamARN}}
		for range maxPages {
			var page struct {
				EventSourceMappings []struct{ FunctionArn, State string }
				NextMarker          string
			}
			if err := c.Get(ctx, "lambda:ListEventSourceMappings", "/2015-03-31/event-source-mappings/?"+query.Encode(), &page); err != nil {
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
		return nil, errors.New("there is no end of event source mappings")
	}
}

// functionName is what an ARN such as arn:aws:lambda:eu-west-1:1:function:name:alias names.
func functionName(arn string) string {
	if _, name, ok := strings.Cut(arn, ":function:"); ok {
		return name
	}
	return arn
}
