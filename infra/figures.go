package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// Statistics, by CloudWatch's names.
const (
	sum     = "Sum"
	maximum = "Maximum"
	samples = "SampleCount"
	p99     = "p99"
)

func minute() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(1)) }

// metric returns a metric with periods of one minute.
func metric(namespace, name, statistic string, dimensions map[string]*string) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic),
		DimensionsMap: &dimensions, Period: minute(),
	})
}

// withPeriod returns a metric with periods of some minutes.
func withPeriod(minutes int, m awscloudwatch.Metric) awscloudwatch.IMetric {
	return m.With(&awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(minutes))})
}

// detectorMetrics returns metrics of the detector, each for every table that it watches.
func detectorMetrics(c *config.Config, statistic string, names ...string) (list []awscloudwatch.Metric) {
	for _, name := range names {
		for _, table := range c.Sources() {
			list = append(list, metric(hotkeys.Namespace, name, statistic, map[string]*string{"TableName": jsii.String(table)}))
		}
	}
	return list
}

// detectorTotal returns the sum of the detector's metrics over the tables that it watches.
func detectorTotal(c *config.Config, statistic string, names ...string) awscloudwatch.IMetric {
	return total(names[0], 1, detectorMetrics(c, statistic, names...)...)
}

// logMetric returns a metric from a function's log lines with a message. value is "1" to count the lines, or the path
// of a number in the line.
func logMetric(s awscdk.Stack, c *config.Config, f function, name, message, value string) awscloudwatch.Metric {
	namespace := hotkeys.Namespace + "/" + stackName(c)
	awslogs.NewMetricFilter(s, id(name), &awslogs.MetricFilterProps{
		LogGroup: f.logs, MetricNamespace: &namespace, MetricName: &name, MetricValue: &value,
		FilterPattern: awslogs.FilterPattern_StringValue(jsii.String("$.msg"), jsii.String("="), &message),
	})
	return metric(namespace, name, sum, nil)
}

func functionMetric(f function, name, statistic string) awscloudwatch.Metric {
	return metric("AWS/Lambda", name, statistic, map[string]*string{"FunctionName": f.lambda.FunctionName()})
}

// mappingMetric returns a Lambda metric of an event source mapping. The mapping must enable it.
func mappingMetric(m awslambda.CfnEventSourceMapping, name, statistic string) awscloudwatch.Metric {
	return metric("AWS/Lambda", name, statistic, map[string]*string{"EventSourceMappingUUID": m.AttrId()})
}

// tableMetric returns a DynamoDB metric of a table or an index.
func tableMetric(table, index, name string) awscloudwatch.Metric {
	dimensions := map[string]*string{"TableName": jsii.String(table)}
	if index != "" {
		dimensions["GlobalSecondaryIndexName"] = jsii.String(index)
	}
	return metric("AWS/DynamoDB", name, sum, dimensions)
}

func apiMetric(a *api, name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/ApiGateway", name, statistic, map[string]*string{"ApiId": a.http.ApiId(), "Stage": a.stage.StageName()})
}

// total returns the sum of metrics, in periods of some minutes. Missing data are 0; if all are missing, so is the sum:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
func total(label string, minutes int, list ...awscloudwatch.Metric) awscloudwatch.IMetric {
	return sumOf(label, "%s", minutes, list)
}

// filled returns a total that is 0 if all metrics are missing: DynamoDB's have no zeros, and then may keep an alarm's
// state despite NOT_BREACHING. The newest minute is 0 until its data arrive, so no alarm may require all its minutes.
func filled(label string, list ...awscloudwatch.Metric) awscloudwatch.IMetric {
	return sumOf(label, "FILL(%s, 0)", 1, list)
}

// sumOf returns the sum of metrics. termFormat is the format of a metric's term, with %s for its name.
func sumOf(label, termFormat string, minutes int, list []awscloudwatch.Metric) awscloudwatch.IMetric {
	using := map[string]awscloudwatch.IMetric{}
	var terms []string
	for n, m := range list {
		name := fmt.Sprintf("m%d", n)
		using[name] = withPeriod(minutes, m)
		terms = append(terms, fmt.Sprintf(termFormat, name))
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(strings.Join(terms, " + ")), UsingMetrics: &using, Period: awscdk.Duration_Minutes(jsii.Number(minutes)), Label: jsii.String(label),
	})
}

// byKey returns a series for each hot key of a table, with the key's rate in WCU/s, the hottest first.
func byKey(table string) awscloudwatch.IMetric {
	query := fmt.Sprintf(`SELECT MAX(KeyWriteUnitsPerSecond) FROM SCHEMA(%s, "Key", TableName) WHERE TableName = '%s' GROUP BY "Key" ORDER BY MAX() DESC`,
		hotkeys.Namespace, table)
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &query, UsingMetrics: &map[string]awscloudwatch.IMetric{}, Period: minute(), Label: jsii.String(""),
	})
}
