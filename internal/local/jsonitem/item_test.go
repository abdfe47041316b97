package jsonitem

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// understood decodes as the limiter does.
func understood(text []byte, into any) bool { return json.Unmarshal(text, into) == nil }

func TestNumbers(t *testing.T) {
	tests := []struct {
		forms []string
		text  string
		size  int // as DynamoDB Local has it
	}{
		{[]string{"0", "-0", "0.00", "0e5", "+0"}, "0", 1},
		{[]string{"1", "1.0", "01", "10e-1", "0.1E1", "+1", "1e+0"}, "1", 2},
		{[]string{"-1", "-1.00"}, "-1", 3},
		{[]string{"12"}, "12", 2},
		{[]string{"120", "1.2e2"}, "120", 3},
		{[]string{"1.2"}, "12e-1", 3},
		{[]string{"1000", "1e3"}, "1000", 2},
		{[]string{"1e100"}, "1e100", 2},
		{[]string{"-0.0005", "-5e-4"}, "-5e-4", 3},
		{[]string{strings.Repeat("9", 38)}, strings.Repeat("9", 38), 20},
		{[]string{"-" + strings.Repeat("9", 37) + ".9"}, "-" + strings.Repeat("9", 38) + "e-1", 21},
	}
	for _, test := range tests {
		for _, form := range test.forms {
			n := parseNumber(form)
			if n.text() != test.text || n.size() != test.size {
				t.Errorf("%s is %s of %d bytes, want %s of %d", form, n.text(), n.size(), test.text, test.size)
			}
		}
	}
}

func TestNotANumber(t *testing.T) {
	for _, text := range []string{"", "x", "1e", "1ex", "1e999999999999999999999"} {
		n := parseNumber(text)
		if n.size() < 1 {
			t.Errorf("%q has %d bytes", text, n.size())
		}
	}
}

func TestItemsAreEqual(t *testing.T) {
	const all = `{"s":{"S":"a"},"n":{"N":"10"},"b":{"B":"AQI="},"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"bs":{"BS":["AQ==","Ag=="]},` +
		`"l":{"L":[{"S":"x"},{"L":[]}]},"m":{"M":{"k":{"M":{}}}},"t":{"BOOL":true},"z":{"NULL":true}}`
	tests := []struct {
		old, new string
		equal    bool
	}{
		{"", "", true},
		{`"N":"10"`, `"N":"1.0e1"`, true},
		{`["a","b"]`, `["b","a"]`, true},
		{`["1","2"]`, `["2.0","1"]`, true},
		{`["AQ==","Ag=="]`, `["Ag==","AQ=="]`, true},
		{`"S":"a"`, `"S":"b"`, false},
		{`"N":"10"`, `"N":"11"`, false},
		{`"B":"AQI="`, `"B":"AQM="`, false},
		{`"B":"AQI="`, `"B":""`, false},
		{`["a","b"]`, `["a","c"]`, false},
		{`{"S":"x"},{"L":[]}`, `{"L":[]},{"S":"x"}`, false},
		{`{"L":[]}`, `{"M":{}}`, false},
		{`"k":{"M":{}}`, `"j":{"M":{}}`, false},
		{`true},"z"`, `false},"z"`, false},
		{`"z":{"NULL":true}`, `"z":{"S":""}`, false},
		{`"SS":["a","b"]`, `"NS":["1","2"]`, false},
	}
	for _, test := range tests {
		var a, b Item
		if !understood([]byte(all), &a) || !understood([]byte(strings.Replace(all, test.old, test.new, 1)), &b) {
			t.Fatalf("%s is not understood", test.new)
		}
		if a.Equal(b) != test.equal || b.Equal(a) != test.equal {
			t.Errorf("%s and %s: want equal %v", test.old, test.new, test.equal)
		}
	}
}

func TestSizes(t *testing.T) {
	tests := []struct {
		value string
		want  int
	}{
		{`{"S":""}`, 0},
		{`{"S":"\u00e9"}`, 2},
		{`{"N":"123"}`, 3},
		{`{"B":"AQID"}`, 3},
		{`{"SS":["a","bc"]}`, 3},
		{`{"NS":["1","100"]}`, 4},
		{`{"BS":["AQ==","AgM="]}`, 3},
		{`{"BOOL":false}`, 1},
		{`{"NULL":true}`, 1},
		{`{"L":[]}`, 3},
		{`{"L":[{"S":"ab"},{"N":"1"}]}`, 3 + 2 + 2 + 2},
		{`{"M":{"key":{"M":{}}}}`, 3 + 1 + 3 + 3},
	}
	for _, test := range tests {
		var i Item
		if !understood([]byte(`{"name":`+test.value+`}`), &i) {
			t.Fatalf("%s is not understood", test.value)
		}
		if got := i.Size(); got != 4+test.want {
			t.Errorf("%s has %d bytes, want %d", test.value, got-4, test.want)
		}
	}
}

// TestKeyTexts wants one text for every way to write a key.
func TestKeyTexts(t *testing.T) {
	tests := []struct {
		value, want string
		ok          bool
	}{
		{`{"S":"a"}`, "a", true},
		{`{"S":"\u0061"}`, "a", true},
		{`{"N":"1.50"}`, "15e-1", true},
		{`{"B":"AQI="}`, "AQI=", true},
		{`{"BOOL":true}`, "", false},
		{`{}`, "", false},
	}
	for _, test := range tests {
		var v Value
		if !understood([]byte(test.value), &v) {
			t.Fatalf("%s is not understood", test.value)
		}
		if got, ok := v.Text(); got != test.want || ok != test.ok {
			t.Errorf("%s is %q, %v", test.value, got, ok)
		}
	}
}

// TestItemsSurvive wants items that were read to be written as they were.
func TestItemsSurvive(t *testing.T) {
	const text = `{"b":{"B":""},"bs":{"BS":["AQ=="]},"f":{"BOOL":false},"l":{"L":[]},"m":{"M":{}},"n":{"N":"1.50"},"s":{"S":""}}`
	var i, again Item
	if !understood([]byte(text), &i) {
		t.Fatal("not understood")
	}
	written, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	if !understood(written, &again) || !i.Equal(again) || len(written) != len(text) {
		t.Errorf("%s became %s", text, written)
	}
}
