package functions_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
)

// batch is a delivery to hotkeys, with the metrics that hotkeys then sends.
type batch struct {
	event   string
	state   string // members that the response's state must have
	metrics map[string]float64
}

const open = `{"state":{"v":"1"},"batchItemFailures":[]}`

// hot returns the metrics of a window with one hot key.
func hot(key string, rate float64) map[string]float64 {
	const table = " hotshard-items"
	return map[string]float64{"HotKeys" + table: 1, "SaturatedKeys" + table: 0, "HotPartitions" + table: 0, "KeyWriteUnitsPerSecond" + table + " " + key: rate}
}

// early adds the metric of a window that Lambda ended early.
func early(metrics map[string]float64) map[string]float64 {
	metrics["WindowsTerminatedEarly hotshard-items"] = 1
	return metrics
}

// TestWindows checks the responses and the metrics of hotkeys for deliveries with and without a tumbling window. The states
// in events/ are its responses to the previous events.
func TestWindows(t *testing.T) {
	d := deploy(t)
	dropped := map[string]float64{"WindowStatesDropped hotshard-items": 1}
	for _, b := range []batch{
		{"stream-insert", folded, nil},
		{"stream-modify", folded, nil},
		{"stream-remove", folded, nil},
		{"stream-ttl-remove", folded, nil},
		{"window-first", open, nil},
		{"window-state", open, map[string]float64{"KeyWriteUnitsPerSecond hotshard-items C#viral": 0.6}}, // hot before the window's end
		{"window-final", folded, hot("C#viral", 0.6)},
		{"window-early", folded, early(hot("C#viral", 0.7))},
		{"bad-state", open, dropped},
		{"bad-counter", folded, nil},
	} {
		t.Run(b.event, func(t *testing.T) {
			d.check(t, "hotkeys", d.payload(t, b.event), b.state, "")
			got, err := d.metrics.takeValues(d.tables)
			require.NoError(t, err)
			want := b.metrics
			if want == nil {
				want = map[string]float64{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHotKeyIsNamed passes a window's state from each response to the next delivery. Then query must return the hot
// keys.
func TestHotKeyIsNamed(t *testing.T) {
	d := deploy(t)
	start := time.Now().UTC().Truncate(10 * time.Second)
	state := json.RawMessage(`{}`)
	for _, event := range []string{"window-first", "window-state", "window-final"} {
		answer, err := d.functions["hotkeys"].Invoke(t.Context(), d.delivery(t, event, start, state))
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(answer, &fields))
		state = fields["state"]
	}
	first := start.Format("2006-01-02T15:04:05.000Z")
	d.check(t, "query", d.payload(t, "api-get-hot-keys"), `{"statusCode":200,"body":{"keys":[
		{"key":"C#viral#0","type":"counter","name":"viral","status":"hot","write_units_per_second":0.6,
		 "error":0,"peak":1,"shards":1,"first_seen":"`+first+`"},
		{"key":"E#door#2026-01-05#0","type":"entity","name":"door","status":"hot","write_units_per_second":0.3}]}}`, "")
}

// fixtureStart is the start of the window in events/, in Unix seconds.
const fixtureStart = 1767614400

var created = regexp.MustCompile(`"ApproximateCreationDateTime": (\d+)`)

// delivery returns a windowed event at another time with another state.
func (d *deployment) delivery(t *testing.T, event string, start time.Time, state json.RawMessage) []byte {
	t.Helper()
	text := created.ReplaceAllStringFunc(string(d.payload(t, event)), func(s string) string {
		at, err := strconv.ParseInt(created.FindStringSubmatch(s)[1], 10, 64)
		require.NoError(t, err)
		return fmt.Sprintf(`"ApproximateCreationDateTime": %d`, start.Unix()+at-fixtureStart)
	})
	text = strings.ReplaceAll(text, `"2026-01-05T12:00:00Z"`, start.Format(`"`+time.RFC3339+`"`))
	text = strings.ReplaceAll(text, `"2026-01-05T12:00:10Z"`, start.Add(10*time.Second).Format(`"`+time.RFC3339+`"`))
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &fields))
	fields["state"] = state
	moved, err := json.Marshal(fields)
	require.NoError(t, err)
	return moved
}
