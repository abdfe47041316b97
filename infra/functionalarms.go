package infra

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

func functionAlarms(c *config.Config, functions map[string]function) (list []alarm) {
	for _, f := range deployedFunctions(c) {
		cause := calls
		if _, reads := streamFilters[f]; reads {
			cause = readStream
		}
		list = append(list, alarm{
			name: f + "-errors", section: "function-errors", cause: cause, metric: functionMetric(functions[f], "Errors", sum), threshold: 1, periods: 5, datapoints: 3,
			text: "Invocations of " + f + " fail. Its log has the reason. A batch of the stream is retried until it succeeds or is discarded.",
		}, alarm{
			name: f + "-throttles", section: "function-throttles", cause: cause, metric: functionMetric(functions[f], "Throttles", sum), threshold: 1, periods: 5, datapoints: 3,
			text: "Lambda throttles invocations of " + f + ": the concurrency of the account, or that reserved for the function, is used up.",
		})
	}
	return list
}

// usedUp is the alarm's threshold, as a share of the account's unreserved concurrency.
const usedUp = 0.8

// accountAlarms returns the alarm on the concurrency that functions without a reservation share: the account's other
// functions, and the deployment's own if the quota is too low for reservations. The metric has no dimensions:
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-concurrency.html
func accountAlarms(c *config.Config) []alarm {
	unreserved := c.AccountConcurrency
	for _, reserved := range c.Reserved() {
		unreserved -= reserved
	}
	return []alarm{{
		name: "account-concurrency", cause: limits, metric: metric("AWS/Lambda", "UnreservedConcurrentExecutions", maximum, nil),
		threshold: usedUp * float64(unreserved), periods: 5, datapoints: 3,
		text: fmt.Sprintf("%.0f %% or more of the account's unreserved concurrency is used (%d, by accountConcurrency). "+
			"Invocations beyond it are throttled. Request a higher quota, or find out which function needs so much.", 100*usedUp, unreserved),
	}}
}

// slow is the p99 latency of calls at which the API is too slow, ingest's deadline for a write.
const slow = 2 * time.Second

func apiAlarms(c *config.Config, web *api) []alarm {
	failed := awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("IF(calls >= 20, 100 * FILL(failed, 0) / calls, 0)"), Period: minute(), Label: jsii.String("% of calls failed"),
		UsingMetrics: &map[string]awscloudwatch.IMetric{"failed": apiMetric(web, "5xx", sum), "calls": apiMetric(web, "Count", sum)},
	})
	return []alarm{{
		name: "api-errors", cause: calls, metric: failed, threshold: 1, periods: 5, datapoints: 3,
		text: "1 % or more of the API's calls fail with 5xx. 503 means that DynamoDB is unreachable or the shard map is stale; the logs have the other reasons.",
	}, {
		name: "api-slow", cause: calls, metric: apiMetric(web, "Latency", p99), threshold: float64(slow.Milliseconds()), periods: 5, datapoints: 3,
		text: "The API's p99 latency is too high. Mostly ingest is retrying throttled writes: check whether a key is hot.",
	}}
}

// maxTasksDropped is an alarm's threshold: failed tasks in an hour. They are not retried: the next run does the work.
const maxTasksDropped = 3

// taskAlarms returns the alarms on missing and on failed runs of scheduled tasks, which callers would not notice.
func taskAlarms(s awscdk.Stack, c *config.Config, functions map[string]function) (list []alarm) {
	for _, t := range tasks(c) {
		done := logMetric(s, c, functions[t.function], *id(t.name)+"TasksDone", t.done, "1")
		minutes, periods := longestGap(t.every)
		list = append(list, alarm{
			name: t.name + "-not-done", section: "tasks", cause: upkeep, metric: withPeriod(minutes, done), threshold: 1, periods: periods, absent: true,
			text: fmt.Sprintf("The task %s, which %s does every %s, was not done for %d minutes. Check that its schedule is enabled, and the function's log.",
				t.name, functions[t.function].name, interval(t.every), minutes*periods),
		})
	}
	for _, f := range readers(c) {
		list = append(list, alarm{
			name: f + "-tasks-dropped", section: "tasks", cause: upkeep, metric: withPeriod(60, functionMetric(functions[f], "AsyncEventsDropped", sum)), threshold: maxTasksDropped, periods: 1,
			text: fmt.Sprintf("%d or more of the tasks of %s failed in an hour. A single failure does no harm, as the next run does its work. The function's log has the reason.", maxTasksDropped, f),
		})
	}
	return list
}

// interval returns the time between two runs of a task as the text after "every": "minute" or "5 minutes".
func interval(every time.Duration) string {
	if n := wholeMinutes(every); n != 1 {
		return fmt.Sprint(n, " minutes")
	}
	return "minute"
}

// longestGap returns how long a task may be without a run before the alarm, as a number of periods and their length:
// about half an hour, or three of the task's intervals if that is longer.
func longestGap(every time.Duration) (periodMinutes, periods int) {
	periodMinutes = max(5, wholeMinutes(every))
	return periodMinutes, max(3, 30/periodMinutes)
}
