// Package config has the settings of a deployment, from CDK context (-c key=value, or cdk.context.json). There are two
// kinds of keys:
//
//   - those of the stack, the fields of [Stack];
//   - those of the functions: each environment variable that a function reads, such as
//     HOTSHARD_ROLLUP_RETENTION, is the key rollupRetention. Its default and bounds come from the
//     function's package.
//
// Example:
//
//	c, err := config.Parse(map[string]any{"window": "20s", "email": "ops@example.com"})
//	c.Hotkeys.Window           // 20s
//	c.Environment("hotkeys")   // HOTSHARD_WINDOW=20s, and all else that hotkeys reads
//
// An error lists all faults.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Config has the validated settings of a deployment.
type Config struct {
	Stack
	Ingest     ingest.Settings
	Query      query.Settings
	Hotkeys    hotkeys.Settings
	Aggregator fold.Settings

	given map[string]string            // the operator's settings, by key
	env   map[string]map[string]string // each function's environment variables
}

// Names returns the names of the deployment's tables.
func (c *Config) Names() schema.Names { return schema.NamesFor(c.Prefix) }

// Attached reports whether the deployment only watches an existing table.
func (c *Config) Attached() bool { return c.SourceStreamARN != "" }

// OneReader reports whether one function reads the streams.
func (c *Config) OneReader() bool { return c.Readers == "one" }

// SourceTable returns the name of the existing table, or "".
func (c *Config) SourceTable() string {
	if match := streamARN.FindStringSubmatch(c.SourceStreamARN); match != nil {
		return match[2]
	}
	return ""
}

// Sources returns the names of the tables whose streams are read.
func (c *Config) Sources() (list []string) {
	if c.Attached() {
		return []string{c.SourceTable()}
	}
	for _, t := range schema.StreamTables() {
		list = append(list, c.Names().Table(t))
	}
	return list
}

// Reserved returns the reserved concurrency of each function, by name; 0 is none.
func (c *Config) Reserved() map[string]int {
	r := plan.Reserve(c.AccountConcurrency)
	if c.Attached() {
		return map[string]int{"hotkeys": r.Stream}
	}
	if c.OneReader() {
		return map[string]int{"ingest": r.Ingest, "query": r.Query, "reader": r.Stream}
	}
	return map[string]int{"ingest": r.Ingest, "query": r.Query, "hotkeys": r.Stream, "aggregator": r.Stream}
}

// StreamConcurrency returns how many stream shards can be read at once: the concurrency that each function of the
// stream reserves, or the account's if none is reserved.
func (c *Config) StreamConcurrency() int {
	reserved := c.Reserved() // for the aggregator as much as for hotkeys; or for reader instead of both
	return cmp.Or(reserved["hotkeys"], reserved["reader"], c.AccountConcurrency)
}

// BatchingWindow returns how long a delivery of the stream waits for records, except of events to the aggregator: whole
// seconds, up to the detector's window.
func (c *Config) BatchingWindow() time.Duration {
	return min(plan.BatchingWindow(c.StreamShards), max(time.Second, c.Hotkeys.Window.Truncate(time.Second)))
}

// Environment returns the environment variables of a function.
func (c *Config) Environment(function string) map[string]string {
	if function == "reader" {
		both := maps.Clone(c.env["hotkeys"])
		maps.Copy(both, c.env["aggregator"])
		return both
	}
	return maps.Clone(c.env[function])
}

// Parse parses a context. Unknown keys are faults. It ignores keys with other characters than letters, digits and
// underscores, which are the CDK's. If the detector's Hold is not set, it follows from StreamShards and the window.
func Parse(context map[string]any) (*Config, error) {
	c := &Config{given: map[string]string{}, env: map[string]map[string]string{}}
	var faults []error
	known := Keys()
	for _, key := range slices.Sorted(maps.Keys(context)) {
		if !isSetting(key, known) {
			continue
		}
		value, err := settingText(context[key])
		i := slices.IndexFunc(known, func(k Key) bool { return k.Name == key })
		switch {
		case err == nil && i < 0:
			err = errors.New("there is no such setting: docs/deploy.md lists the settings")
		case value == "[]" && known[i].Variable == "":
			value = ""
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
		c.given[key] = value
	}
	faults = append(faults, parse(&c.Stack, c.given))
	faults = append(faults,
		parseFunction(c, "ingest", &c.Ingest), parseFunction(c, "query", &c.Query),
		parseFunction(c, "hotkeys", &c.Hotkeys), parseFunction(c, "aggregator", &c.Aggregator))
	if c.Hotkeys.Hold == 0 && c.Hotkeys.Window > 0 {
		c.Hotkeys.Hold = plan.TumblingWindow(c.StreamShards, c.Hotkeys.Window)
		c.env["hotkeys"]["HOTSHARD_HOLD"] = c.Hotkeys.Hold.String()
	}
	faults = append(faults, c.check())
	if err := firstFaults(faults); err != nil {
		return nil, err
	}
	return c, nil
}

// isSetting reports whether a key is this package's and not the CDK's. A known setting with hyphens is a typing error.
func isSetting(key string, known []Key) bool {
	plain := strings.ReplaceAll(key, "-", "")
	return strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" ||
		slices.ContainsFunc(known, func(k Key) bool { return strings.EqualFold(k.Name, plain) })
}

// settingText returns a value of the command line or a JSON file as the command line's -c has it. It joins a list of
// strings by commas.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		return joinList(v)
	}
	return "", fmt.Errorf("it is %v: want a text, a number, true, false or a list", value)
}

func joinList(list []any) (string, error) {
	var texts []string
	for _, element := range list {
		text, ok := element.(string)
		if !ok {
			return "", fmt.Errorf("it has %v: want a list of texts", element)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}

// firstFaults returns an error with the first fault of each setting ("KEY is ...") and all other lines, or nil. Further
// faults of a setting say nothing new: functions share settings, and an unparsable setting is 0 in later checks.
func firstFaults(faults []error) error {
	err := errors.Join(faults...)
	if err == nil {
		return nil
	}
	var lines []string
	seen := map[string]bool{}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		key, _, hasKey := strings.Cut(line, " is ")
		if hasKey && seen[key] {
			continue
		}
		seen[key] = true
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}
