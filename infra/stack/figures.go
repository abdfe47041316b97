package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/internal/metrics"
)

// Statistics, as CloudWatch calls them.
const (
	sum     = "Sum"
	maximum = "Maximum"
	p99     = "p99"
)

const keyRate = "KeyWriteUnitsPerSecond"

func minute() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(1)) }

func metric(namespace, name, statistic string, dimensions map[string]*string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic),
		DimensionsMap: &dimensions, Period: minute(),
	})
}

// own is a metric of the detector's, of the table that it watches.
func (d *deployment) own(name, statistic string) awscloudwatch.IMetric {
	return metric(metrics.Namespace, name, statistic, map[string]*string{"TableName": jsii.String(d.config.SourceName())})
}

// logged is a metric that was made of log lines.
func (d *deployment) logged(name string) awscloudwatch.IMetric {
	return metric(d.logNamespace(), name, sum, nil)
}

func (d *deployment) logNamespace() string { return metrics.Namespace + "/" + Name(d.config) }

// ofFunction is a metric that Lambda keeps of a function.
func (d *deployment) ofFunction(function, name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/Lambda", name, statistic, map[string]*string{"FunctionName": d.functions[function].FunctionName()})
}

// ofMapping is a metric that Lambda keeps of an event source mapping, if it is told to.
func (d *deployment) ofMapping(function, name string) awscloudwatch.IMetric {
	return metric("AWS/Lambda", name, sum, map[string]*string{"EventSourceMappingUUID": d.mappings[function].AttrId()})
}

// ofTable is a metric that DynamoDB keeps of a table or an index.
func ofTable(table, index, name string) awscloudwatch.IMetric {
	dimensions := map[string]*string{"TableName": jsii.String(table)}
	if index != "" {
		dimensions["GlobalSecondaryIndexName"] = jsii.String(index)
	}
	return metric("AWS/DynamoDB", name, sum, dimensions)
}

func (d *deployment) ofAPI(name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/ApiGateway", name, statistic, map[string]*string{"ApiId": d.api.ApiId(), "Stage": d.stage.StageName()})
}

// total adds up metrics of which some may have no data, as they have none for zero.
func total(label string, list ...awscloudwatch.IMetric) awscloudwatch.IMetric {
	using := map[string]awscloudwatch.IMetric{}
	expression := ""
	for n, m := range list {
		name := fmt.Sprintf("m%d", n)
		using[name] = m
		expression += fmt.Sprintf(" + FILL(%s, 0)", name)
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(expression[len(" + "):]), UsingMetrics: &using, Period: minute(), Label: jsii.String(label),
	})
}

// byKey is the rate of each hot key: a series for each, the hottest first.
func (d *deployment) byKey() awscloudwatch.IMetric {
	query := fmt.Sprintf(`SELECT MAX(%s) FROM SCHEMA(%s, "Key", TableName) WHERE TableName = '%s' GROUP BY "Key" ORDER BY MAX() DESC`,
		keyRate, metrics.Namespace, d.config.SourceName())
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &query, UsingMetrics: &map[string]awscloudwatch.IMetric{}, Period: minute(), Label: jsii.String(""),
	})
}
