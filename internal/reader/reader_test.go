package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/reader"
	"github.com/hotshard/hotshard/internal/test/require"
)

// detector is a detector with this outcome.
type detector struct {
	state map[string]string
	err   error
	seen  int // batches
}

func (d *detector) Deliver(context.Context, *ddbstream.Batch) (map[string]string, error) {
	d.seen++
	return d.state, d.err
}

func (d *detector) Task(_ context.Context, name string) ([]byte, error) {
	return []byte("detector " + name), nil
}

// aggregator is an aggregator that can't fold these records.
type aggregator struct {
	again []string
	seen  int // batches
}

func (a *aggregator) Deliver(context.Context, *ddbstream.Batch) []string {
	a.seen++
	return a.again
}

func (a *aggregator) Task(_ context.Context, name string) ([]byte, error) {
	return []byte("aggregator " + name), nil
}

// TestOneAnswerForBoth checks the answer to a batch of the window from 12:00:00 to 12:00:10, by the outcomes of both.
func TestOneAnswerForBoth(t *testing.T) {
	payload, err := os.ReadFile("../../events/window-first.json")
	require.NoError(t, err)
	batch, err := ddbstream.Decode(payload)
	require.NoError(t, err)
	down := errors.New("down")
	again := fmt.Sprintf(`{"state":{},"batchItemFailures":[{"itemIdentifier":%q}]}`, batch.Records[0].Sequence)
	for name, row := range map[string]struct {
		err    error
		again  []string
		age    time.Duration // since the window's end
		want   string
		counts int // batches of the detector
	}{
		"both succeed":           {nil, nil, 0, `{"state":{"k":"v"},"batchItemFailures":[]}`, 1},
		"a fold fails":           {nil, []string{"7", "9"}, 0, again, 1},
		"the detector fails":     {down, nil, 0, "", 1},
		"both fail":              {down, []string{"7"}, 0, "", 1},
		"as old as may be":       {down, nil, hotkeys.RecordAge, "", 1},
		"too old":                {down, nil, hotkeys.RecordAge + time.Millisecond, `{"state":{"lost":"1"},"batchItemFailures":[]}`, 0},
		"too old, a fold failed": {nil, []string{"7"}, 2 * hotkeys.RecordAge, again, 0},
	} {
		d, a, log := &detector{state: map[string]string{"k": "v"}, err: row.err}, &aggregator{again: row.again}, &bytes.Buffer{}
		h := reader.New(d, a, slog.New(slog.NewTextHandler(log, nil)), func() time.Time { return batch.WindowEnd.Add(row.age) })
		answer, err := h.Invoke(t.Context(), payload)
		if string(answer) != row.want || (err != nil) != (row.want == "") || err != nil && !errors.Is(err, down) {
			t.Errorf("%s: answer %s, error %v; want %s", name, answer, err, row.want)
		}
		if d.seen != row.counts || a.seen != 1 || strings.Contains(log.String(), "batch not counted") != (row.counts == 0) {
			t.Errorf("%s: the detector got %d batches, the aggregator %d; log %q", name, d.seen, a.seen, log)
		}
	}
}

// TestTasksOfBoth checks that each scheduled task runs where it belongs, and what is an error.
func TestTasksOfBoth(t *testing.T) {
	d, a := &detector{}, &aggregator{}
	h := reader.New(d, a, slog.New(slog.DiscardHandler), time.Now)
	for payload, want := range map[string]string{
		hotkeys.HeatTask: "detector heat", hotkeys.ShrinkTask: "detector shrink", fold.CompactionTask: "aggregator compact", fold.BoardsTask: "aggregator boards",
		`{"task":"other"}`: "", `{"Records":`: "", `{}`: "",
	} {
		if answer, err := h.Invoke(t.Context(), []byte(payload)); string(answer) != want || (err != nil) != (want == "") {
			t.Errorf("%s: answer %q, error %v; want %q", payload, answer, err, want)
		}
	}
	if d.seen+a.seen > 0 {
		t.Error("a batch was delivered")
	}
}
