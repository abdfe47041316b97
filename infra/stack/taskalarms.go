package stack

import (
	"fmt"
	"slices"
	"time"
)

// Tasks are given up at the first failure, since the next run does what one did not:
// some may fail, and these are how many of an hour must before it is worth a look.
const maxTasksDropped = 3

// taskAlarms are about the work that schedules ask for, of which no caller would see
// that it does not happen.
func (d *deployment) taskAlarms() (list []alarm) {
	var functions []string
	for _, t := range d.tasks() {
		if !slices.Contains(functions, t.function) {
			functions = append(functions, t.function)
		}
		metric := *id(t.name) + "TasksDone"
		d.count(t.function, metric, t.done, "1")
		minutes, periods := patience(t.every)
		list = append(list, alarm{
			name: t.name + "-not-done", section: "tasks", metric: over(minutes, d.logged(metric)), from: 1, periods: periods, absent: true,
			text: fmt.Sprintf("The task %s, which %s does every %d minutes, was not done for %d minutes. See whether its schedule is on, and the function's log.",
				t.name, t.function, wholeMinutes(t.every), minutes*periods),
		})
	}
	for _, f := range functions {
		list = append(list, alarm{
			name: f + "-tasks-dropped", section: "tasks", metric: over(60, d.ofFunction(f, "AsyncEventsDropped", sum)), from: maxTasksDropped, periods: 1,
			text: fmt.Sprintf("%d or more of the tasks of %s failed in an hour. One that fails is no harm, as the next does its work; the function's log has the reason.", maxTasksDropped, f),
		})
	}
	return list
}

// patience is for how long a task that runs so often may not be done: half an hour, or
// three runs.
func patience(every time.Duration) (minutes, periods int) {
	minutes = max(5, wholeMinutes(every))
	return minutes, max(3, 30/minutes)
}
