package fold

import (
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/pkg/shard"
)

// TestRulesGoByTheLongestPrefix checks which rule an entity has.
func TestRulesGoByTheLongestPrefix(t *testing.T) {
	rules, err := ParseRules(`[{"every":"1h"},{"prefix":"s/","every":"1d","fields":["t"]},{"prefix":"s/x","every":"1h"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for entity, want := range map[string]shard.Bucket{"a": shard.Hour, "s/": shard.Day, "s/a": shard.Day, "s/x1": shard.Hour, "s": shard.Hour} {
		if got, ok := rules.ruleOf(entity); !ok || got.bucket() != want {
			t.Errorf("%q: %+v, %t; want %s", entity, got, ok, want)
		}
	}
	rules, err = ParseRules(`[{"prefix":"s","every":"1h"}]`)
	if rule, ok := rules.ruleOf("a"); ok || err != nil {
		t.Errorf("an entity without a rule has %+v, %v", rule, err)
	}
}

// TestBadRules checks that the error says what is wrong with the rules.
func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		``: "rollup rules", `{}`: "rollup rules", `[{}]`: `no "every"`, `[{"every":"2h"}]`: "1h or 1d", `[{"every":"1h","x":1}]`: "x",
		`[{"every":"1h"},{"every":"1d"}]`:                                                        "two rules have the prefix",
		`[{"every":"1h","fields":["` + strings.Repeat(`","`, 20) + `"]}]`:                        "21 fields",
		`[` + strings.TrimSuffix(strings.Repeat(`{"every":"1h","prefix":"x"},`, 101), ",") + `]`: "101",
	} {
		if _, err := ParseRules(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q in it", text, err, want)
		}
	}
}

// TestSettings checks the defaults, and that New names the variables of bad settings.
func TestSettings(t *testing.T) {
	read := func(set map[string]string) (Settings, error) {
		set["HOTSHARD_ITEMS_TABLE"], set["HOTSHARD_ROLLUPS_TABLE"], set["HOTSHARD_SHARD_MAP_TABLE"] = "items", "rollups", "map"
		return env.ParseAsWithOptions[Settings](env.Options{Environment: set})
	}
	s, err := read(map[string]string{})
	if rule, ok := s.Rules.ruleOf("any"); err != nil || !ok || rule.bucket() != shard.Hour || rule.Fields != nil || s.RollupRetention != 0 {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	s, err = read(map[string]string{"HOTSHARD_ROLLUP_RULES": "[]", "HOTSHARD_ROLLUP_RETENTION": "48h"})
	if _, ok := s.Rules.ruleOf("any"); err != nil || ok || s.RollupRetention != 48*time.Hour || s.Validate() != nil {
		t.Errorf("no rules: %+v, %v", s, err)
	}
	if _, err := read(map[string]string{"HOTSHARD_ROLLUP_RULES": "hourly"}); err == nil {
		t.Error("the rules \"hourly\" are accepted")
	}
	if _, err := New(Settings{RollupRetention: time.Hour}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "HOTSHARD_ROLLUPS_TABLE") || !strings.Contains(err.Error(), "HOTSHARD_ROLLUP_RETENTION") {
		t.Errorf("New returned %v, want an error with both variables", err)
	}
}
