package hotkeys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// CloudWatchAPI is the part of the SDK's client that [CloudWatch] calls.
type CloudWatchAPI interface {
	PutMetricData(context.Context, *cloudwatch.PutMetricDataInput, ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error)
}

// Limits of one PutMetricData call, from
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
const (
	maxMetrics        = 1000
	maxRequestBytes   = 1_000_000
	maxDimensions     = 30
	maxDimensionValue = 1024
)

// CloudWatch sends data with PutMetricData, in the namespace [Namespace]. It makes one attempt of each
// call: after a time-out the data may have counted.
type CloudWatch struct {
	client CloudWatchAPI
}

// NewCloudWatch returns a sink over a client.
func NewCloudWatch(client CloudWatchAPI) *CloudWatch { return &CloudWatch{client} }

// Put sends the data in as few calls as the limits allow. It leaves out a datum for which CloudWatch would reject the
// whole call, and returns an error that names the metric. After a failed call it makes the next one.
func (c *CloudWatch) Put(ctx context.Context, data []Datum) error {
	var errs []error
	var batch []types.MetricDatum
	size := 0
	flush := func() {
		if len(batch) > 0 {
			errs = append(errs, c.send(ctx, batch))
			batch, size = nil, 0
		}
	}
	for _, d := range data {
		if err := d.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		datum := d.cloudWatch()
		n := requestBytes(datum)
		if len(batch) == maxMetrics || size+n > maxRequestBytes {
			flush()
		}
		batch, size = append(batch, datum), size+n
	}
	flush()
	return errors.Join(errs...)
}

func (c *CloudWatch) send(ctx context.Context, batch []types.MetricDatum) error {
	namespace := Namespace
	_, err := c.client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: &namespace, MetricData: batch}, noRetries)
	if err != nil {
		return fmt.Errorf("metrics: sending %d data, the first of %s: %w", len(batch), *batch[0].MetricName, err)
	}
	return nil
}

// noRetries disables the SDK's retries.
func noRetries(o *cloudwatch.Options) { o.Retryer = aws.NopRetryer{} }

func (d *Datum) check() error {
	if math.IsNaN(d.Value) || math.Abs(d.Value) > math.Exp2(360) {
		return fmt.Errorf("metrics: %s: the value %v is out of range", d.Name, d.Value)
	}
	if len(d.Dimensions) > maxDimensions {
		return fmt.Errorf("metrics: %s: it has %d dimensions, and CloudWatch allows %d", d.Name, len(d.Dimensions), maxDimensions)
	}
	return nil
}

func (d *Datum) cloudWatch() types.MetricDatum {
	datum := types.MetricDatum{MetricName: &d.Name, Value: &d.Value, Unit: types.StandardUnit(d.Unit), Timestamp: &d.Time}
	for _, dim := range d.Dimensions {
		value := dimensionValue(dim.Value)
		datum.Dimensions = append(datum.Dimensions, types.Dimension{Name: &dim.Name, Value: &value})
	}
	return datum
}

// requestBytes returns an upper bound of a datum's size in a request, for any protocol of the
// SDK. The query protocol is the longest: it repeats the path of each member, and escapes a
// byte as three.
func requestBytes(d types.MetricDatum) int {
	size := 300 + 3*len(*d.MetricName)
	for _, dim := range d.Dimensions {
		size += 150 + 3*len(*dim.Name) + 3*len(*dim.Value)
	}
	return size
}

// dimensionValue returns text as a valid dimension value: 1 to 1,024 printable ASCII
// characters, not all blank, without a leading colon. Other bytes and percent signs become %XX.
// The end of a longer text is replaced by a digest. Different texts have different values.
func dimensionValue(text string) string {
	var b strings.Builder
	blank := strings.TrimSpace(text) == ""
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == '%' || (c == ':' && i == 0) || (blank && i == 0) {
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
