package httpapi

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestWeightIsNoLessThanWhatIsSent compares WeightOf with the size of Lambda's response, which has the body as a JSON string.
func TestWeightIsNoLessThanWhatIsSent(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("\"\\\n\u2028\u2029<aé—"))))
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]string{"a": texts.Draw(t, "text")}
		weight, err := WeightOf(value)
		require.NoError(t, err)
		var body, sent bytes.Buffer
		for _, step := range []struct {
			to   *bytes.Buffer
			from func() any
		}{{&body, func() any { return value }}, {&sent, func() any { return body.String() }}} {
			encoder := json.NewEncoder(step.to)
			encoder.SetEscapeHTML(false)
			require.NoError(t, encoder.Encode(step.from()))
		}
		if quotes := len(`""`) + 1; weight < sent.Len()-quotes {
			t.Fatalf("%q weighs %d, and %d bytes are sent", value, weight, sent.Len()-quotes)
		}
	})
}
