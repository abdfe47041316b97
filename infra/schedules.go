package infra

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// task is a scheduled invocation of a function, and the line that the function logs when it is done.
type task struct {
	name, function, payload, done string
	every                         time.Duration
}

func tasks(c *config.Config) []task {
	heat := task{"heat", Hotkeys, hotkeys.HeatTask, "heat task done", hotkeys.HeatInterval}
	if c.Attached() {
		return []task{heat}
	}
	return []task{
		heat,
		{"shrink", Hotkeys, hotkeys.ShrinkTask, "shrink task done", c.Hotkeys.TaskInterval()},
		{"compact", Aggregator, fold.CompactionTask, "compaction task done", fold.CompactionInterval},
		{"boards", Aggregator, fold.BoardsTask, "boards task done", fold.BoardRecheck},
	}
}

// newSchedules makes the schedules of the tasks, without retries, since the next run follows soon.
func newSchedules(s awscdk.Stack, c *config.Config, functions map[string]function) {
	scheduler := awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": s.Account()}},
	})
	for _, t := range tasks(c) {
		function := functions[t.function].live.FunctionArn()
		role := newRole(s, id(t.name, "schedule", "role"), "Of the schedule "+c.Prefix+t.name, scheduler,
			[]awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, function)})
		awsscheduler.NewCfnSchedule(s, id(t.name, "schedule"), &awsscheduler.CfnScheduleProps{
			Name:               jsii.String(c.Prefix + t.name),
			ScheduleExpression: jsii.String(rate(t.every)),
			FlexibleTimeWindow: awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
			Target: awsscheduler.CfnSchedule_TargetProperty{
				Arn: function, Input: jsii.String(t.payload), RoleArn: role.RoleArn(),
				RetryPolicy: awsscheduler.CfnSchedule_RetryPolicyProperty{MaximumRetryAttempts: jsii.Number(0), MaximumEventAgeInSeconds: jsii.Number(60)},
			},
		})
	}
}

// rate returns a schedule's rate expression for an interval, rounded up to minutes: rate(1 minute) for 30 s.
func rate(every time.Duration) string {
	minutes := wholeMinutes(every)
	if minutes == 1 {
		return "rate(1 minute)"
	}
	return fmt.Sprintf("rate(%d minutes)", minutes)
}

// wholeMinutes rounds an interval up to minutes.
func wholeMinutes(every time.Duration) int {
	return int(max(1, (every+time.Minute-1)/time.Minute))
}
