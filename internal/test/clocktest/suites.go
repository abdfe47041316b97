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
	"time"
)

// suite is a package's tests that depend on time. The last element of its folder is unique
// among suites, because their test programs are in one folder.
type suite struct {
	folder string
	run    string // value of go test -run; "" for all
}

var suites = []suite{
	{"pkg/shard", ""},
	{"pkg/shard/boards", "^(TestTheStoredForm|TestRevsRise|Example.*)$"},
	{"pkg/shard/counters", "^(TestSummaries.*|Example.*)$"},
	{"pkg/shard/events", "^(TestRange.*|TestEvents.*|Example.*)$"},
	{"pkg/shard/limits", "^(TestWindows|TestExpiryCountsFromWindowsEnd|Example.*)$"},
	{"pkg/shard/shardmap", "^(TestStepsOfADeletion|TestPins|Example.*)$"},
	{"pkg/shard/spread", ""},
	{"pkg/shard/table", "^Example.*$"},
	{"pkg/shard/sessions", "^(TestSessionsAreRight.*|Example.*)$"},
	{"internal/base/schema", ""},
	{"internal/base/heat", ""},
	{"internal/tool/load", ""},
	{"internal/base/ddbstream", ""},
	{"internal/hotkeys", "^(TestDecide.*|TestShrink|TestTaskFaults)$"},
	{"internal/ingest", "^(Test.*Sessions.*|Test.*Hits.*|TestEventsAreAnswered|TestKeyedScoresCountOnce|TestScores|TestALate.*)$"},
	{"internal/query", "^(TestDefault.*|TestRollups.*|TestHot.*|TestActiveSessions|TestWideRanges.*|TestShards)$"},
	{"internal/fold", "^(TestTasks|TestFoldsOfATop|TestMarkers.*|TestDeadlines)$"},
	{"internal/rebuild", "^(TestPeriods.*|TestExpiringPeriods.*|TestBucketsOfAnEntity)$"},
	{"cmd/hotshard", "^(TestShardsSpread|TestSpreads.*)$"},
}

// patience bounds one suite at one moment.
const patience = 5 * time.Minute

// runAll runs all suites at each moment and prints a line for each moment.
func runAll(ctx context.Context, bin string, moments []time.Time) error {
	bad := 0
	for _, moment := range moments {
		begun, before := time.Now(), bad
		for _, s := range suites {
			out, err := s.at(ctx, moment, bin)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				bad++
				fmt.Printf("%s at %s: %v\n%s\n", s.folder, moment.Format(time.RFC3339), err, out)
			}
		}
		fmt.Printf("%s  %d of %d suites passed in %.1f s\n", moment.Format(time.RFC3339), len(suites)-bad+before, len(suites), time.Since(begun).Seconds())
	}
	if bad > 0 {
		return fmt.Errorf("%d suites failed", bad)
	}
	return nil
}

// at runs a suite at a moment. It fails if the suite has no tests.
func (s suite) at(ctx context.Context, moment time.Time, bin string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, path.Base(s.folder)+".test"), "-test.run", s.run)
	cmd.Dir = filepath.FromSlash(s.folder)
	ahead := int64(time.Until(moment.Round(0)).Round(time.Second).Seconds())
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", offsetVariable, ahead))
	out, err = cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		err = errors.New("no test has this name")
	}
	return out, err
}
