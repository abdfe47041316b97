package functions_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

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
