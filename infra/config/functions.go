package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// Key is a setting of an operator.
type Key struct {
	Name     string
	Default  string
	Variable string // environment variable of the functions; "" for the stack's own
}

// Keys returns all settings that an operator can set, by name.
func Keys() []Key {
	var list []Key
	for _, p := range fields(&Stack{}) {
		list = append(list, Key{Name: p.Key, Default: p.DefaultValue})
	}
	computed := (&Config{}).computed()
	seen := map[string]bool{}
	for _, settings := range emptySettings() {
		for _, p := range fields(settings) {
			if _, isComputed := computed[p.Key]; !isComputed && !seen[p.Key] {
				seen[p.Key] = true
				list = append(list, Key{keyOf(p.Key), p.DefaultValue, p.Key})
			}
		}
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// fields describes the variables that a struct is parsed from.
func fields(settings any) []env.FieldParams {
	list, err := env.GetFieldParams(settings)
	if err != nil {
		panic(err) // a tag of the struct is wrong
	}
	return list
}

const variablePrefix = "HOTSHARD_"

// keyOf returns the key of a variable: topK for HOTSHARD_TOP_K. It returns a key of the stack unchanged.
func keyOf(variable string) string {
	name, isVariable := strings.CutPrefix(variable, variablePrefix)
	if !isVariable {
		return name
	}
	words := strings.Split(strings.ToLower(name), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// computed returns the variables that an operator can't set, with their values.
func (c *Config) computed() map[string]string {
	set := map[string]string{"HOTSHARD_SOURCE_TABLE": ""}
	for _, t := range schema.Tables(c.Names()) {
		set[c.TableVariable(t.Name)] = t.Name
	}
	if c.Attached() {
		set["HOTSHARD_SOURCE_TABLE"] = c.SourceTable()
	}
	return set
}

// TableVariable returns the environment variable that has a table's name: HOTSHARD_SHARD_MAP_TABLE for
// hotshard-shard-map.
func (c *Config) TableVariable(table string) string {
	name := strings.TrimPrefix(table, c.Prefix)
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_TABLE"
}

type validator interface{ Validate() error }

// parseFunction sets the settings of one function from computed values, the operator's settings, or else the function's
// defaults. It stores them as the function's environment.
func parseFunction[S validator](c *Config, name string, settings *S) error {
	computed := c.computed()
	set := map[string]string{}
	for _, p := range fields(settings) {
		value, ok := computed[p.Key]
		if !ok {
			value, ok = c.given[keyOf(p.Key)]
		}
		if !ok {
			value = p.DefaultValue
		}
		set[p.Key] = value
	}
	c.env[name] = set
	if err := parse(settings, set); err != nil {
		return err
	}
	return withKeys((*settings).Validate())
}

// parse sets a struct from values, by the struct's tags. The error of a value that can't be parsed begins with its key.
func parse(settings any, values map[string]string) error {
	err := env.ParseWithOptions(settings, env.Options{Environment: values, FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): display.ParseAny}})
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return err
	}
	var faults []error
	for _, fault := range all.Errors {
		if p, ok := errors.AsType[env.ParseError](fault); ok {
			field, _ := reflect.TypeOf(settings).Elem().FieldByName(p.Name)
			name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
			if number, ok := errors.AsType[*strconv.NumError](p.Err); ok {
				p.Err = fmt.Errorf("want %s", wanted[number.Func])
			}
			fault = fmt.Errorf("%s is %q: %w", keyOf(name), values[name], p.Err)
		}
		faults = append(faults, fault)
	}
	return errors.Join(faults...)
}

// wanted describes the valid values, by the function of strconv that rejected a value.
var wanted = map[string]string{"ParseBool": "true or false", "ParseInt": "a whole number", "ParseFloat": "a number"}

var variable = regexp.MustCompile(variablePrefix + `[A-Z_]+`)

// withKeys returns an error with the keys of settings in place of their environment variables.
func withKeys(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(variable.ReplaceAllStringFunc(err.Error(), keyOf))
}

// Variables returns the names of each function's variables, in order.
func Variables() map[string][]string {
	all := map[string][]string{}
	for name, settings := range emptySettings() {
		for _, p := range fields(settings) {
			all[name] = append(all[name], p.Key)
		}
		slices.Sort(all[name])
		all[name] = slices.Compact(all[name]) // the reader's functions share some
	}
	return all
}

// emptySettings returns the functions' settings, by name, without values.
func emptySettings() map[string]any {
	return map[string]any{
		"ingest": &ingest.Settings{}, "query": &query.Settings{}, "hotkeys": &hotkeys.Settings{}, "aggregator": &fold.Settings{},
		"reader": &struct {
			Detector   hotkeys.Settings
			Aggregator fold.Settings
		}{},
	}
}
