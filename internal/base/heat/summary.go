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

// Summary is what the items of an hour, those of windows that start in it, say of the keys
// whose load was low: for each, by its base key, the write units a second that it took in
// its heaviest window, at the most. A key that is not in it may have taken any.
type Summary struct {
	Hour  time.Time // its begin, UTC
	Peaks map[string]float64
}

// SummaryPartition is the partition key of all summaries. Their sort key is the hour, as
// in [SortBounds].
const SummaryPartition = prefix + "summary"

const (
	summaryKept     = 48 * time.Hour
	maxSummaryBytes = 300_000
	peakBytes       = 20 // what a key takes beside its name
)

type storedSummary struct {
	record.Key
	Version uint64          `dynamodbav:"v"`
	Peaks   map[string]peak `dynamodbav:"peaks"`
	Expires int64           `dynamodbav:"expires_at"` // Unix seconds
}

// peak is stored to hundredths.
type peak float64

// MarshalDynamoDBAttributeValue makes a number of it.
func (p peak) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(float64(p), 'f', 2, 64)}, nil
}

// UnmarshalDynamoDBAttributeValue takes a number alone: the decoder takes NULL for 0.
func (p *peak) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("a peak is not a number")
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	*p = peak(f)
	return err
}

// Attributes returns the summary as it is stored. Of the keys it keeps as many as fit in 300
// KB.
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

// ParseSummary reads a summary as Attributes makes it. Errors name its sort key.
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
