package fold

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Rules define which events are rolled up, and how. The zero Rules roll up none.
type Rules struct {
	list []rule // the longest prefix first
}

// rule applies to the entities whose names start with a prefix.
type rule struct {
	Prefix string   `json:"prefix"`
	Every  width    `json:"every"`
	Fields []string `json:"fields"` // empty for all fields
}

func (r rule) bucket() shard.Bucket { return shard.Bucket(r.Every) }

// width is the width of a bucket as settings write it.
type width shard.Bucket

// UnmarshalText parses 1h or 1d.
func (w *width) UnmarshalText(text []byte) error {
	switch every, _ := display.ParseDuration(string(text)); every {
	case time.Hour:
		*w = width(shard.Hour)
	case 24 * time.Hour:
		*w = width(shard.Day)
	default:
		return fmt.Errorf("\"every\" is %.20q: want 1h or 1d", text)
	}
	return nil
}

// maxRules bounds the rules of ParseRules.
const maxRules = 100

// ParseRules parses a JSON list of at most 100 rules:
//
//	[{"prefix":"sensor/","every":"1h","fields":["temperature"]},{"every":"1d"}]
//
// Of the rules whose prefix begins an entity's name, the one with the longest prefix applies. A rule without a prefix
// matches all entities. "every" is the width of a rollup, 1h or 1d. "fields" has the top-level fields of an event's data
// whose numbers are rolled up; without "fields" all are.
func ParseRules(text string) (Rules, error) {
	var list []rule
	if err := json.Unmarshal([]byte(text), &list, json.RejectUnknownMembers(true)); err != nil {
		return Rules{}, fmt.Errorf(`rollup rules: want a JSON list such as [{"prefix":"sensor/","every":"1h"}]: %w`, err)
	}
	if len(list) > maxRules {
		return Rules{}, fmt.Errorf("rollup rules: there are %d: want at most %d", len(list), maxRules)
	}
	seen := map[string]bool{}
	for i, r := range list {
		switch {
		case r.Every == "":
			return Rules{}, fmt.Errorf("rollup rules: rule %d has no \"every\": want 1h or 1d", i+1)
		case len(r.Fields) > parts.MaxMeasures:
			return Rules{}, fmt.Errorf("rollup rules: rule %d has %d fields: want at most %d", i+1, len(r.Fields), parts.MaxMeasures)
		case seen[r.Prefix]:
			return Rules{}, fmt.Errorf("rollup rules: two rules have the prefix %q: keep one of them", r.Prefix)
		}
		seen[r.Prefix] = true
	}
	slices.SortFunc(list, func(a, b rule) int { return len(b.Prefix) - len(a.Prefix) })
	return Rules{list}, nil
}

// UnmarshalText is ParseRules, for the environment.
func (r *Rules) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRules(string(text))
	return err
}

// ruleOf returns the rule of an entity; ok is false if it has none.
func (r Rules) ruleOf(entity string) (found rule, ok bool) {
	i := slices.IndexFunc(r.list, func(r rule) bool { return strings.HasPrefix(entity, r.Prefix) })
	if i < 0 {
		return found, false
	}
	return r.list[i], true
}

// Target returns the target that an item folds into. ok is false for items that are not folded,
// such as an event whose key has another day than its time: no reader finds it.
func (r Rules) Target(pk, sk string) (t schema.Target, ok bool) {
	k, _, _ := schema.CutKind(pk)
	if s, ok := summaryOf(k); ok {
		return s.targetOf(r, pk, sk)
	}
	return t, false
}
