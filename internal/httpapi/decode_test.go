package httpapi

import (
	"encoding/json"
	"testing"
)

// TestTypeFaultsHaveTheValue checks that a fault of a type that parses its own text names the rejected value.
func TestTypeFaultsHaveTheValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"scores":[{"score":1},{"score":1e30}]}`: `{"message":"it must be a number between -10^18 and 10^18 with at most 38 digits","location":"body.scores[1].score","value":1e30}`,
		`{"ttl":"30w"}`: `{"message":"it must be a duration such as 90s, 1h30m, 7d or 1d12h","location":"body.ttl","value":"30w"}`,
	} {
		var into struct {
			Scores []struct {
				Score Score `json:"score"`
			} `json:"scores"`
			TTL Duration `json:"ttl"`
		}
		var tree any
		if fault := unmarshal([]byte(text), &tree, nil); fault != nil {
			t.Fatal(fault)
		}
		fault, err := json.Marshal(unmarshal([]byte(text), &into, tree))
		if err != nil || string(fault) != want {
			t.Errorf("%s: %s, %v\nwant %s", text, fault, err, want)
		}
	}
}
