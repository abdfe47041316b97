package prove

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// metric is a sum in CloudWatch, which add adds to the units that it counts.
type metric struct {
	namespace, name, dimension, of string
	add                            func(u *Units, sum float64)
}

// functions are a deployment's functions, with the maximum GB of each.
var functions = map[string]float64{"ingest": functionGB, "query": functionGB, "hotkeys": functionGB, "aggregator": 2}

// metricsOf returns the metrics of everything that a run made.
func metricsOf(r Record) (list []metric) {
	writes := func(u *Units, sum float64) { u.WriteUnits += sum }
	reads := func(u *Units, sum float64) { u.ReadUnits += sum }
	tables := []string{r.Prefix() + "plain"}
	for _, t := range schema.Tables(schema.NamesFor(r.Prefix())) {
		tables = append(tables, t.Name)
	}
	for _, table := range tables {
		list = append(list,
			metric{"AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", table, writes},
			metric{"AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", table, reads})
	}
	for function, gb := range functions {
		list = append(list,
			metric{"AWS/Lambda", "Invocations", "FunctionName", r.Prefix() + function, func(u *Units, sum float64) {
				u.Invocations += sum
				if function == "ingest" || function == "query" {
					u.Requests += sum // without those that Lambda throttled
				}
			}},
			metric{"AWS/Lambda", "Duration", "FunctionName", r.Prefix() + function, func(u *Units, sum float64) { u.GBSeconds += gb * sum / 1000 }})
	}
	return list
}

// billed returns what the run's tables and functions used, after CloudWatch has all of it.
func (a AWS) billed(ctx context.Context, r Record) (u Units, err error) {
	if !dynamo.Pause(ctx, a.Waiting.Metrics) {
		return u, ctx.Err()
	}
	list := metricsOf(r)
	in := &cloudwatch.GetMetricDataInput{StartTime: aws.Time(r.Begun.Truncate(time.Minute)), EndTime: aws.Time(r.Begun.Add(2 * runTime).Truncate(time.Minute))}
	for i, m := range list {
		in.MetricDataQueries = append(in.MetricDataQueries, types.MetricDataQuery{
			Id: aws.String(fmt.Sprintf("m%d", i)),
			MetricStat: &types.MetricStat{Period: aws.Int32(60), Stat: aws.String("Sum"), Metric: &types.Metric{
				Namespace: &m.namespace, MetricName: &m.name, Dimensions: []types.Dimension{{Name: &m.dimension, Value: &m.of}},
			}},
		})
	}
	pages := cloudwatch.NewGetMetricDataPaginator(a.Metrics, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return u, err
		}
		for _, result := range page.MetricDataResults {
			var i int
			if _, err := fmt.Sscanf(aws.ToString(result.Id), "m%d", &i); err != nil || i >= len(list) {
				return u, fmt.Errorf("cloudwatch:GetMetricData: unexpected result %q", aws.ToString(result.Id))
			}
			for _, value := range result.Values {
				list[i].add(&u, value)
			}
		}
	}
	return u, nil
}
