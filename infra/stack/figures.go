package stack

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/metrics"
)

// Statistics, as CloudWatch calls them.
const (
	sum     = "Sum"
	maximum = "Maximum"
	samples = "SampleCount"
	p99     = "p99"
)

func minute() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(1)) }

// metric is one of minutes.
func metric(namespace, name, statistic string, dimensions map[string]*string) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic),
		DimensionsMap: &dimensions, Period: minute(),
	})
}

// over takes a metric over longer periods.
func over(minutes int, m awscloudwatch.Metric) awscloudwatch.IMetric {
	return m.With(&awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(minutes))})
}

// own is a metric of the detector's, of the table that it watches.
func own(c *config.Config, name, statistic string) awscloudwatch.Metric {
	return metric(metrics.Namespace, name, statistic, map[string]*string{"TableName": jsii.String(c.SourceName())})
}

// logged makes a metric of a function's log lines with a message: 1 for each, or a value of theirs.
func logged(s awscdk.Stack, c *config.Config, f function, name, message, value string) awscloudwatch.Metric {
	namespace := metrics.Namespace + "/" + Name(c)
	awslogs.NewMetricFilter(s, id(name), &awslogs.MetricFilterProps{
		LogGroup: f.logs, MetricNamespace: &namespace, MetricName: &name, MetricValue: &value,
		FilterPattern: awslogs.FilterPattern_StringValue(jsii.String("$.msg"), jsii.String("="), &message),
	})
	return metric(namespace, name, sum, nil)
}

// ofFunction is a metric that Lambda keeps of a function.
func ofFunction(f function, name, statistic string) awscloudwatch.Metric {
	return metric("AWS/Lambda", name, statistic, map[string]*string{"FunctionName": f.lambda.FunctionName()})
}

// ofMapping is a metric that Lambda keeps of an event source mapping, if it is told to.
func ofMapping(m awslambda.CfnEventSourceMapping, name, statistic string) awscloudwatch.Metric {
	return metric("AWS/Lambda", name, statistic, map[string]*string{"EventSourceMappingUUID": m.AttrId()})
}

// ofTable is a metric that DynamoDB keeps of a table or an index.
func ofTable(table, index, name string) awscloudwatch.Metric {
	dimensions := map[string]*string{"TableName": jsii.String(table)}
	if index != "" {
		dimensions["GlobalSecondaryIndexName"] = jsii.String(index)
	}
	return metric("AWS/DynamoDB", name, sum, dimensions)
}

func ofAPI(a *api, name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/ApiGateway", name, statistic, map[string]*string{"ApiId": a.http.ApiId(), "Stage": a.stage.StageName()})
}

// total adds up metrics, of which some may have no data: arithmetic takes what is
// missing for 0, from
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
// Where all are missing there is nothing.
func total(label string, minutes int, list ...awscloudwatch.Metric) awscloudwatch.IMetric {
	return sumOf(label, "%s", minutes, list)
}

// filled is a total that is 0 where all are missing. It is for DynamoDB's metrics, which
// have no zeros: an alarm may stay as it is while they have no data. The newest minute is
// filled before its late data come, so an alarm must not want all of its minutes.
func filled(label string, list ...awscloudwatch.Metric) awscloudwatch.IMetric {
	return sumOf(label, "FILL(%s, 0)", 1, list)
}

func sumOf(label, form string, minutes int, list []awscloudwatch.Metric) awscloudwatch.IMetric {
	using := map[string]awscloudwatch.IMetric{}
	var terms []string
	for n, m := range list {
		name := fmt.Sprintf("m%d", n)
		using[name] = over(minutes, m)
		terms = append(terms, fmt.Sprintf(form, name))
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(strings.Join(terms, " + ")), UsingMetrics: &using, Period: awscdk.Duration_Minutes(jsii.Number(minutes)), Label: jsii.String(label),
	})
}

// byKey is the rate of each hot key: a series for each, the hottest first.
func byKey(c *config.Config) awscloudwatch.IMetric {
	query := fmt.Sprintf(`SELECT MAX(KeyWriteUnitsPerSecond) FROM SCHEMA(%s, "Key", TableName) WHERE TableName = '%s' GROUP BY "Key" ORDER BY MAX() DESC`,
		metrics.Namespace, c.SourceName())
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &query, UsingMetrics: &map[string]awscloudwatch.IMetric{}, Period: minute(), Label: jsii.String(""),
	})
}
