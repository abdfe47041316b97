package heat

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
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

// Attributes returns the summary as it is stored: pk, sk, v, peaks (a map of numbers) and
// expires_at. Of the keys it keeps as many as fit in 300 KB.
func (s *Summary) Attributes() map[string]types.AttributeValue {
	peaks := make(map[string]types.AttributeValue)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Peaks)) {
		if size += len(key) + peakBytes; size > maxSummaryBytes {
			break
		}
		peaks[key] = &types.AttributeValueMemberN{Value: strconv.FormatFloat(s.Peaks[key], 'f', 2, 64)}
	}
	return map[string]types.AttributeValue{
		schema.PK:        text(SummaryPartition),
		schema.SK:        text(bound(s.Hour)),
		schema.Version:   &types.AttributeValueMemberN{Value: version},
		"peaks":          &types.AttributeValueMemberM{Value: peaks},
		schema.ExpiresAt: number(uint64(s.Hour.Add(summaryKept).Unix())),
	}
}

// ParseSummary reads a summary as Attributes makes it. Errors name its sort key.
func ParseSummary(attributes map[string]types.AttributeValue) (Summary, error) {
	p := parser{attributes: attributes}
	s := Summary{Peaks: make(map[string]float64)}
	var err error
	if s.Hour, err = time.Parse(schema.TimeLayout, p.text(schema.SK)); err != nil {
		p.fail(schema.SK)
	}
	peaks, ok := attributes["peaks"].(*types.AttributeValueMemberM)
	if !ok || p.number(schema.Version) != 1 {
		p.fail("peaks")
		peaks = new(types.AttributeValueMemberM)
	}
	for key, v := range peaks.Value {
		n, _ := v.(*types.AttributeValueMemberN)
		if n == nil {
			n = new(types.AttributeValueMemberN)
		}
		if s.Peaks[key], err = strconv.ParseFloat(n.Value, 64); err != nil {
			p.fail("peaks")
		}
	}
	if p.err != nil {
		return Summary{}, fmt.Errorf("heat: summary %q: %w", sortKey(attributes), p.err)
	}
	return s, nil
}
