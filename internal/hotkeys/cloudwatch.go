package hotkeys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// Namespace is the namespace of all of hotshard's metrics.
const Namespace = "Hotshard"

// Datum is one value of one metric. The name and the dimensions identify the metric.
type Datum = types.MetricDatum

// Sink sends data. After an error some or all of them may be lost. Callers must not send them again, because a value
// that is sent twice counts twice.
type Sink interface {
	Put(ctx context.Context, data []Datum) error
}

const (
	unitCount          = types.StandardUnitCount
	unitCountPerSecond = types.StandardUnitCountSecond
)

// CloudWatchAPI is the part of the SDK's client that [CloudWatch] calls.
type CloudWatchAPI interface {
	PutMetricData(context.Context, *cloudwatch.PutMetricDataInput, ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error)
}

const (
	// maxMetrics bounds the data of one call. AWS allows 1,000 data and 1 MB. A datum takes at most 3.5 KB.
	maxMetrics        = 250
	maxDimensionValue = 1024
)

// CloudWatch sends data with PutMetricData, in the namespace [Namespace]. It makes one attempt of each
// call: after a time-out the data may have counted.
type CloudWatch struct {
	client CloudWatchAPI
}

// NewCloudWatch returns a sink over a client.
func NewCloudWatch(client CloudWatchAPI) *CloudWatch { return &CloudWatch{client} }

// Put sends the data. After a failed call it makes the next one.
func (c *CloudWatch) Put(ctx context.Context, data []Datum) error {
	var errs []error
	for batch := range slices.Chunk(data, maxMetrics) {
		errs = append(errs, c.send(ctx, batch))
	}
	return errors.Join(errs...)
}

func (c *CloudWatch) send(ctx context.Context, batch []Datum) error {
	namespace := Namespace
	_, err := c.client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: &namespace, MetricData: batch}, noRetries)
	if err != nil {
		return fmt.Errorf("metrics: sending %d values to CloudWatch, the first of %s: %w", len(batch), *batch[0].MetricName, err)
	}
	return nil
}

// noRetries disables the SDK's retries.
func noRetries(o *cloudwatch.Options) { o.Retryer = aws.NopRetryer{} }

// tableMetric returns a value of a table's metric. More dimensions identify one of several such metrics.
func tableMetric(table, name string, value float64, unit types.StandardUnit, at time.Time, more ...types.Dimension) Datum {
	return Datum{
		MetricName: &name, Value: &value, Unit: unit, Timestamp: &at, Dimensions: append([]types.Dimension{dimension("TableName", table)}, more...),
	}
}

func dimension(name, text string) types.Dimension {
	return types.Dimension{Name: &name, Value: aws.String(dimensionValue(text))}
}

// dimensionValue returns text as a valid dimension value: 1 to 1,024 printable ASCII
// characters, not all blank, without a leading colon. Other bytes and percent signs become %XX.
// The end of a longer text is replaced by a digest. Different texts have different values.
func dimensionValue(text string) string {
	var b strings.Builder
	isBlank := strings.TrimSpace(text) == ""
	for i := range len(text) {
		c := text[i]
		badStart := i == 0 && (c == ':' || isBlank)
		if badStart || c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	value := b.String()
	switch {
	case value == "":
		return "%"
	case len(value) > maxDimensionValue:
		digest := fmt.Sprintf("...%x", sha256.Sum256([]byte(text)))
		return value[:maxDimensionValue-len(digest)] + digest
	}
	return value
}
