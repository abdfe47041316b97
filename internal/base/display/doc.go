// Package display formats times, durations, names of keys, counts and command lines for people and programs, in JSON,
// logs, metrics and messages. It also parses the durations of settings and flags. Keys are named in plain text, by a
// pseudonym, or not at all:
//
//	log.Warn("grown", "key", settings.MetricNames.Shown(key))
package display
