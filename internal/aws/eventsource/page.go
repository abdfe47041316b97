package eventsource

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// MaxRecords is the maximum number of records of one call of GetRecords.
const MaxRecords = 1000

// maxBody is the maximum size of an answer. DynamoDB's have 1 MB of records, DynamoDB Local's 1,000 of any size.
const maxBody = 512 << 20

// Page has the records of one call of GetRecords.
type Page struct {
	Records []ddbstream.Record // refer to the buffer
	Closed  bool               // no record follows: the stream shard was read to its end
	Full    bool               // has as many records as were requested
	Made    time.Time          // the answer's Date if it lies within the call, else the call's start; zero without a call
	AsOf    time.Time          // the service's time when it answered, or earlier by up to a second and the call's duration; zero without a call
}

// Buffer holds the answer that a page refers to. The zero value is ready to use. It holds one page at a time.
type Buffer struct {
	body    bytes.Buffer
	decoder ddbstream.Decoder
}

// keepBody is the largest capacity of a body that is reused.
const keepBody = 4 << 20

// Release drops the page, and the memory that exceeds a usual page's.
func (b *Buffer) Release() {
	b.decoder.Release()
	if b.body.Cap() > keepBody {
		b.body = bytes.Buffer{}
	}
}

// getRecords calls GetRecords. The returned page has only the times.
func (s *Stream) getRecords(ctx context.Context, iterator string, limit int, buffer *Buffer) (*ddbstream.Batch, Page, error) {
	buffer.body.Reset()
	sent, most := time.Now(), int32(limit)
	out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator, Limit: &most}, noRetry, captureBody(&buffer.body))
	if err != nil {
		return nil, Page{}, err
	}
	page := Page{Made: answerTime(out.ResultMetadata, sent), AsOf: s.observeClock(out.ResultMetadata, sent)}
	batch, err := buffer.decoder.Decode(buffer.body.Bytes())
	if err != nil {
		return nil, Page{}, fmt.Errorf("%w: %w", errNotDynamoDB, err)
	}
	s.observeTimes(batch.Records)
	return batch, page, nil
}

// answerTime returns the answer's time if it is between sent and now, else sent.
func answerTime(answer middleware.Metadata, sent time.Time) time.Time {
	if date, ok := awsmiddleware.GetServerTime(answer); ok && date.After(sent) && date.Before(time.Now()) {
		return date
	}
	return sent
}

// captureBody returns an option that reads the body of an answer into body, and gives the SDK an empty object. The SDK
// would make maps of all attributes, which takes many times as long as counting them. It still reads errors.
func captureBody(body *bytes.Buffer) func(*dynamodbstreams.Options) {
	readBody := middleware.DeserializeMiddlewareFunc("RawBody", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || response.StatusCode != http.StatusOK {
			return out, metadata, err
		}
		_, err = body.ReadFrom(io.LimitReader(response.Body, maxBody+1))
		if err == nil && body.Len() > maxBody {
			err = fmt.Errorf("an answer of GetRecords has more than %d bytes", maxBody)
		}
		response.Body.Close()
		response.Body = io.NopCloser(strings.NewReader("{}"))
		return out, metadata, err
	})
	return func(o *dynamodbstreams.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(readBody, middleware.After) // next to the transport
		})
	}
}

// DropEmptyDeletes returns the records that DynamoDB would have written, in the memory of records. DynamoDB Local also
// writes a record, without an image, if another delete took the item first. In a stream without old images all stay.
func (s *Stream) DropEmptyDeletes(records []ddbstream.Record) []ddbstream.Record {
	hasOldImages := s.view == types.StreamViewTypeNewAndOldImages || s.view == types.StreamViewTypeOldImage
	if !hasOldImages {
		return records
	}
	kept := records[:0]
	for _, record := range records {
		if record.Name != ddbstream.Remove || record.Old.Present() {
			kept = append(kept, record)
		}
	}
	return kept
}
