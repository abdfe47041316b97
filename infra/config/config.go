// Package config is what an operator can set of a deployment, by CDK context
// (-c key=value, or cdk.context.json). There are two kinds of keys:
//
//   - those of the stack, the fields of [Stack];
//   - those of the functions: each environment variable that a function reads, such as
//     HOTSHARD_ROLLUP_RULES, is the key rollupRules. Its default and bounds are the
//     function's own, which this package asks, so there is one definition of each.
//
// Example:
//
//	c, err := config.Parse(map[string]any{"window": "20s", "email": "ops@example.com"})
//	c.Hotkeys.Window           // 20s
//	c.Environment("hotkeys")   // HOTSHARD_WINDOW=20s, and all else that hotkeys reads
//
// An error lists everything that is wrong.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
)

// Config is a deployment's settings, checked.
type Config struct {
	Stack
	Ingest     ingest.Settings
	Query      query.Settings
	Hotkeys    hotkey.Settings
	Aggregator rollup.Settings

	given map[string]string // what the operator set, by key
	env   map[string]map[string]string
}

// Names are those of the deployment's tables.
func (c *Config) Names() schema.Names { return schema.NamesFor(c.Prefix) }

// Attached tells whether the deployment only watches a table that is already there.
func (c *Config) Attached() bool { return c.SourceTable != "" }

// SourceName is the name of the table whose stream is read.
func (c *Config) SourceName() string {
	if c.Attached() {
		return c.SourceTable
	}
	return c.Names().Items
}

// Reserved is the concurrency that each function of the deployment is to have for itself, by name;
// 0 is none.
func (c *Config) Reserved() map[string]int {
	if c.Attached() {
		return map[string]int{"hotkeys": c.HotkeysConcurrency}
	}
	return map[string]int{
		"ingest": c.IngestConcurrency, "query": c.QueryConcurrency, "hotkeys": c.HotkeysConcurrency, "aggregator": c.AggregatorConcurrency,
	}
}

// Environment returns all that a function reads of its environment, by name.
func (c *Config) Environment(function string) map[string]string { return maps.Clone(c.env[function]) }

// Parse reads a context. Keys with anything but letters and digits are CDK's own and
// not looked at; others that are not known are faults.
func Parse(context map[string]any) (*Config, error) {
	c := &Config{given: map[string]string{}, env: map[string]map[string]string{}}
	var faults []error
	known := Keys()
	for _, key := range slices.Sorted(maps.Keys(context)) {
		if !ours(key) {
			continue
		}
		value, err := text(context[key])
		if err == nil && !slices.ContainsFunc(known, func(k Key) bool { return k.Name == key }) {
			err = errors.New("there is no such setting")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
		c.given[key] = value
	}
	faults = append(faults, parse(&c.Stack, c.given))
	faults = append(faults,
		function(c, "ingest", &c.Ingest), function(c, "query", &c.Query),
		function(c, "hotkeys", &c.Hotkeys), function(c, "aggregator", &c.Aggregator),
		c.check())
	if err := once(faults); err != nil {
		return nil, err
	}
	return c, nil
}

// ours tells the keys of this package from those that the CDK has in a context.
func ours(key string) bool {
	return strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// text takes what the command line or a JSON file gives. In a file a list of texts
// may be one, which -c has with commas, and so may a list of objects, which -c has as
// JSON, which has the empty one, too.
func text(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		return listed(v)
	}
	return "", fmt.Errorf("it is %v: want a text, a number, true, false or a list", value)
}

func listed(list []any) (string, error) {
	var texts []string
	for _, one := range list {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	if len(list) > 0 && len(texts) == len(list) {
		return strings.Join(texts, ","), nil
	}
	content, err := json.Marshal(list)
	return string(content), err
}

// once keeps the first fault of each setting, since functions share settings, and what
// could not be read is 0 to later checks.
func once(faults []error) error {
	var lines []string
	seen := map[string]bool{}
	if err := errors.Join(faults...); err != nil {
		for line := range strings.Lines(err.Error()) {
			line = strings.TrimSuffix(line, "\n")
			if key, _, isOne := strings.Cut(line, " is "); !isOne || !seen[key] {
				seen[key] = isOne
				lines = append(lines, line)
			}
		}
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}
