package infra

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// mapping returns the event source mapping of a table's stream to a function. The attached table's name is "".
func mapping(t *testing.T, tm *template, function, from string) object {
	t.Helper()
	for _, r := range tm.of(t, "AWS::Lambda::EventSourceMapping") {
		if r.Properties.text("FunctionName") == "${"+live(t, tm, function)+"}" && (from == "" || r.Properties.text("EventSourceArn") == "${"+table(t, tm, from)+".StreamArn}") {
			return r.Properties
		}
	}
	t.Fatalf("no mapping of %s to %s", from, function)
	return nil
}

var streamed = []string{"items", "events"}

// live returns the id of a function's alias, which all callers use.
func live(t *testing.T, tm *template, function string) string {
	t.Helper()
	id, _ := tm.function(t, function)
	alias, _ := tm.named(t, "AWS::Lambda::Alias", "FunctionName", "${"+id+"}")
	return alias
}

// behind returns the name of an alias's function.
func behind(tm *template, alias string) string {
	return strings.TrimPrefix(tm.at(tm.at(alias).text("FunctionName")).text("FunctionName"), "hotshard-")
}

// TestFilter checks which records the aggregator gets: those that it folds, but no sessions, markers or summaries of
// counters.
func TestFilter(t *testing.T) {
	passes := map[string][]func(key, sk string) bool{}
	tm := deployed(t)
	for _, from := range streamed {
		passes[from] = filters(t, mapping(t, tm, Aggregator, from))
	}
	for _, c := range []struct{ key, sk, from string }{
		{"C#page/home#1", "+", "items"}, {"C#page/home#0", "-", ""}, {"C#page/home#1", schema.ProbeSK, ""},
		{"L#game#all#p", "game", "items"}, {"B#game", "-", "items"},
		{"E#door#2026-01-05#0", "x", "events"}, {"I#key", "-", ""}, {"S#group#0", "x", ""}, {"R#a#60#0#0", "-", ""},
	} {
		for _, from := range streamed {
			got := slices.ContainsFunc(passes[from], func(pass func(key, sk string) bool) bool { return pass(c.key, c.sk) })
			if got != (from == c.from) {
				t.Errorf("%s, %s in %s is delivered: %t", c.key, c.sk, from, got)
			}
		}
	}
}

// filters returns the filters of an event source mapping.
func filters(t *testing.T, mapping object) (passes []func(key, sk string) bool) {
	t.Helper()
	for _, f := range mapping.object("FilterCriteria").objects("Filters") {
		var pattern struct {
			EventName any
			DynamoDB  struct {
				Keys struct {
					PK struct{ S []struct{ Prefix string } }
					SK struct{ S []string }
				}
			}
		}
		text := f.text("Pattern")
		if err := json.Unmarshal([]byte(text), &pattern); err != nil || pattern.EventName != nil || len(text) > 4096 {
			t.Fatalf("%s: %v", text, err)
		}
		passes = append(passes, func(key, sk string) bool {
			return (pattern.DynamoDB.Keys.SK.S == nil || slices.Contains(pattern.DynamoDB.Keys.SK.S, sk)) &&
				slices.ContainsFunc(pattern.DynamoDB.Keys.PK.S, func(p struct{ Prefix string }) bool { return strings.HasPrefix(key, p.Prefix) })
		})
	}
	return passes
}
