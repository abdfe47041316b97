package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// suite is tests of a package that reckon with time. Its folder's name is its own among
// suites, since the test programs lie in one folder.
type suite struct {
	folder string
	run    string // as for go test -run; "" for all
}

var suites = []suite{
	{"pkg/shard", ""},
	{"pkg/shard/boards", "^(TestTheStoredForm|TestRevsRise|Example.*)$"},
	{"pkg/shard/counters", "^(TestSummaries.*|Example.*)$"},
	{"pkg/shard/events", "^(TestRange.*|TestEvents.*|TestStreamOfEvents|TestReadsAfter.*|Example.*)$"},
	{"pkg/shard/limits", "^(TestWindows|TestALimitOfOne.*|Example.*)$"},
	{"pkg/shard/shardmap", "^(TestForgottenKeys|TestPins|Example.*)$"},
	{"pkg/shard/spread", ""},
	{"pkg/shard/table", "^(TestRange.*|Example.*)$"},
	{"pkg/shard/sessions", "^(TestASessionsLife|TestAChangeMovesNobody|TestSessionsAreRight.*|Example.*)$"},
	{"internal/schema", ""},
	{"internal/heat", ""},
	{"internal/metrics", ""},
	{"internal/workload", ""},
	{"internal/schedule", ""},
	{"internal/hotkey", "^(TestPresentAndPast|TestAges|TestBudget.*|TestShrink|TestAnswer.*|TestRelax|TestTaskFaults)$"},
	{"internal/ingest", "^(Test.*Sessions.*|Test.*Hits.*|TestEventsAreAnswered|TestKeyedScoresCountOnce|TestScores|TestALate.*)$"},
	{"internal/query", "^(TestDefault.*|TestRollups.*|TestHot.*|TestActiveSessions|TestWideRanges.*|TestShards)$"},
	{"internal/rollup", "^(TestSummariesOfPeriodsExpire|TestALostTopOfAWeek|TestRetention|TestWhatAnEventAdds|TestRulesDecide|TestTasks|TestMarks.*)$"},
	{"internal/rollup/audit", "^(TestPeriods.*|TestBucketsOfAnEntity)$"},
	{"internal/rollup/compact", "^(TestWhatAMergeCosts|TestDeadlines)$"},
	{"cmd/hotshard", "^(TestShardsCheck|TestChecks.*)$"},
}

// patience bounds one suite at one moment.
const patience = 5 * time.Minute

// runAll runs all suites at all moments, and tells of each moment in a line.
func runAll(ctx context.Context, bin, endpoint string, moments []time.Time) error {
	bad := 0
	for _, moment := range moments {
		begun := time.Now()
		failed := runAt(ctx, moment, bin, endpoint)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		bad += failed
		fmt.Printf("%s  %d of %d suites passed in %.1f s\n", moment.Format(time.RFC3339), len(suites)-failed, len(suites), time.Since(begun).Seconds())
	}
	if bad > 0 {
		return fmt.Errorf("%d suites failed", bad)
	}
	return nil
}

// runAt runs all suites at a moment, two at a time, and returns how many failed.
func runAt(ctx context.Context, moment time.Time, bin, endpoint string) (failed int) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(2)
	for _, s := range suites {
		group.Go(func() error {
			out, err := s.at(ctx, moment, bin, endpoint)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed++
				fmt.Printf("%s at %s: %v\n%s\n", s.folder, moment.Format(time.RFC3339), err, out)
			}
			return nil
		})
	}
	_ = group.Wait()
	return failed
}

// at runs a suite as if it were a moment. That no test is found is an error, too.
func (s suite) at(ctx context.Context, moment time.Time, bin, endpoint string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, path.Base(s.folder)+".test"), "-test.run", s.run)
	cmd.Dir = filepath.FromSlash(s.folder)
	ahead := int64(time.Until(moment.Round(0)).Round(time.Second).Seconds())
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", offsetVariable, ahead), "HOTSHARD_ENDPOINT="+endpoint)
	out, err = cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		err = errors.New("there are no such tests")
	}
	return out, err
}
