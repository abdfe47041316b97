package throttle

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// TestDocument compares documents with package json. with changes only the named members.
func TestDocument(t *testing.T) {
	values := []string{`1`, `-1.5e3`, `true`, `null`, `""`, `"a"`, `"\"}"`, `"\\"`, `{}`, `[]`, `{"a":[{"b":"]"}]}`, `[1,"}",{"a":{}}]`, `"\u00e9é"`}
	names := []string{`a`, `b`, `\u0061`, `with \"quotes\"`, ``}
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("{" + space.Draw(t, "space"))
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			if i > 0 {
				text = append(text, ',')
			}
			for _, part := range []string{`"` + rapid.SampledFrom(names).Draw(t, "name") + `"`, ":", rapid.SampledFrom(values).Draw(t, "value")} {
				text = append(append(text, space.Draw(t, "space")...), part...)
			}
			text = append(text, space.Draw(t, "space")...)
		}
		text = append(text, '}')
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		d, ok := newDocument(text)
		if !ok {
			t.Fatalf("%s is no object", text)
		}
		for name := range want {
			var got any
			if err := json.Unmarshal(d.member(name), &got); err != nil || !reflect.DeepEqual(got, want[name]) {
				t.Fatalf("%s of %s is %s, want %v: %v", name, text, d.member(name), want[name], err)
			}
		}
		changed := object{"a": nil, "new": []byte("[7]")}
		maps.DeleteFunc(want, func(name string, _ any) bool { return name == "a" })
		want["new"] = []any{7.0}
		var got map[string]any
		if err := json.Unmarshal(d.with(changed), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s, want %v: %v", text, d.with(changed), want, err)
		}
		if !bytes.Equal(d.with(nil), text) {
			t.Fatalf("%s became %s without a change", text, d.with(nil))
		}
	})
}

// TestNoDocument checks that texts that are no JSON objects are rejected without a panic.
func TestNoDocument(t *testing.T) {
	for _, text := range []string{"", " ", "1", "[]", `"a"`, "{", `{"a"`, `{"a"}`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":"`, `{"a":"\`, `{a:1}`, `{"a":[1}`, `{"`, `{,}`} {
		if _, ok := newDocument([]byte(text)); ok {
			t.Errorf("%s is an object", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		newDocument([]byte(rapid.OneOf(rapid.String(), rapid.StringMatching(`\{(["\\:,{}\[\]a ]){0,12}`)).Draw(t, "text")))
	})
}

// TestPartitions checks the partition numbers, which must stay the same: other ones would change the results of experiments.
func TestPartitions(t *testing.T) {
	place := func(count int, seed uint64) func(string) int {
		l, err := New(Options{Partitions: count, PartitionWCU: 1, Seed: seed})
		require.NoError(t, err)
		return l.Partition
	}
	for key, want := range map[string]int{"": 43, "C#views#0": 21, "C#views#1": 41, "é": 36} {
		if got := place(64, 0)(key); got != want {
			t.Errorf("%q is on partition %d, want %d", key, got, want)
		}
	}
	moved := 0
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if place(64, 0)(key) != place(64, 1)(key) {
			moved++
		}
	}
	if moved < 4 {
		t.Errorf("another seed moved %d of 8 keys", moved)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, partitions.MaxPartitions).Draw(t, "partitions")
		if p := place(n, rapid.Uint64().Draw(t, "seed"))(rapid.String().Draw(t, "key")); p < 0 || p >= n {
			t.Fatalf("partition %d of %d", p, n)
		}
	})
}

// TestWaitEnds checks that the default Sleep ends with its context.
func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Options{}.withDefaults().Sleep(ctx, time.Hour)
	Options{}.withDefaults().Sleep(t.Context(), time.Nanosecond)
}
