package heat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Summary has the base keys whose load was low in all windows of an hour, each with the upper bound of its WCU/s in its
// heaviest window. A key that is not in the summary may have had any load.
type Summary struct {
	Hour  time.Time // start, UTC
	Peaks map[string]float64
}

// SummaryPartition is the partition key of all summaries. Their sort key is the hour, as
// in [SortBounds].
const SummaryPartition = prefix + "summary"

const (
	summaryKept     = 48 * time.Hour
	maxSummaryBytes = 300_000
	peakBytes       = 20 // the size of a key without its name
)

type storedSummary struct {
	record.Key
	Version uint64          `dynamodbav:"v"`
	Peaks   map[string]peak `dynamodbav:"peaks"`
	Expires int64           `dynamodbav:"expires_at"` // Unix seconds
}

// peak is a rate, stored to hundredths.
type peak float64

// MarshalDynamoDBAttributeValue encodes the rate as a number.
func (p peak) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(float64(p), 'f', 2, 64)}, nil
}

// UnmarshalDynamoDBAttributeValue accepts only a number: the decoder would take NULL for 0.
func (p *peak) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("a peak is not a number")
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	*p = peak(f)
	return err
}

// Attributes returns the item of the summary. It keeps as many keys as fit into 300 KB.
func (s *Summary) Attributes() map[string]types.AttributeValue {
	peaks := make(map[string]peak)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Peaks)) {
		if size += len(key) + peakBytes; size > maxSummaryBytes {
			break
		}
		peaks[key] = peak(s.Peaks[key])
	}
	return record.Item(storedSummary{
		Key: record.Key{PK: SummaryPartition, SK: bound(s.Hour)}, Version: version,
		Peaks: peaks, Expires: s.Hour.Add(summaryKept).Unix(),
	})
}

// ParseSummary decodes an item that Attributes encoded. Errors name its sort key.
func ParseSummary(attributes map[string]types.AttributeValue) (Summary, error) {
	var s storedSummary
	err := read(attributes, &s)
	hour, fault := time.Parse(schema.TimeLayout, s.SK)
	if err = cmp.Or(err, fault); err != nil {
		return Summary{}, fmt.Errorf("heat: summary %q: %w", sortKey(attributes), err)
	}
	peaks := make(map[string]float64, len(s.Peaks))
	for key, p := range s.Peaks {
		peaks[key] = float64(p)
	}
	return Summary{hour, peaks}, nil
}
