// Package display has the forms in which people and programs read times, durations, names of keys, counts and command
// lines: in JSON, logs, metrics and messages. Keys are named in plain text, by a pseudonym, or not at all:
//
//	log.Warn("grown", "key", settings.MetricNames.Shown(key))
package display
