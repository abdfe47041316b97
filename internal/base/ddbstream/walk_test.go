package ddbstream_test

import "testing"

// TestPassingOverAttributes checks that an attribute is found after others whose text looks like JSON.
func TestPassingOverAttributes(t *testing.T) {
	for _, before := range []string{
		`"a":{"S":""}`, `"a":{"S":"\""}`, `"a":{"S":"\\"}`, `"a":{"S":"\\\""}`, `"a":{"S":"}]\",\"x\":{\"S\":\"no\"}"}`, `"a\"":{"S":"x"}`,
		`"a":{"L":[{"M":{"x":{"S":"no"}}},{"L":[]}]}`, `"a": {"M" : { } }`, `"a":{"BOOL":true}`, `"a":{"NULL":true }`, `"a":{"N":"1"},"\u0078y":{"S":"no"}`,
		`"a":1`, `"a":-1.5e3`, `"a":null`, `"a":[1,2]`, `"xx":{"S":"no"}`,
	} {
		img := image(t, `{`+before+` , "\u0078" : {"S":"y\"\\"} , "z":{"N":"7"}}`)
		if got, ok := img.String("x"); got != `y"\` || !ok {
			t.Errorf("after %s: x is %q, %t", before, got, ok)
		}
		if got, ok := img.Number("z"); got != "7" || !ok {
			t.Errorf("after %s: z is %q, %t", before, got, ok)
		}
		if img.Has("absent") || img.Has("y") || img.Has("") {
			t.Errorf("after %s: an absent attribute was found", before)
		}
	}
}
