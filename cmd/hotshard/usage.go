package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hotshard/hotshard/internal/base/display"
)

// rfc3339 matches a time in RFC 3339. Package time also accepts an hour of one digit, and a comma before the fraction.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// timeFlag parses a flag's value as a time in RFC 3339. Its error has an example.
func timeFlag(ctx *kong.DecodeContext, into reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return fmt.Errorf("want a time such as 2026-01-05T12:00:00Z, not %q", text)
	}
	into.Set(reflect.ValueOf(t))
	return nil
}

// durationFlag parses a flag's value as a duration. Its error has an example.
func durationFlag(ctx *kong.DecodeContext, into reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := display.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%w, not %q", err, text)
	}
	into.SetInt(int64(d))
	return nil
}

// noValue matches the parser's messages for a flag without a value.
var noValue = regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting .*$`)

// wrongUsage returns the text of a parser's error, and the command line of the help to read.
func wrongUsage(err error) string {
	command := "hotshard"
	if fault, ok := errors.AsType[*kong.ParseError](err); ok && fault.Context != nil {
		for _, part := range fault.Context.Path {
			if part.Command != nil {
				command = part.Command.FullPath()
			}
		}
	}
	text := noValue.ReplaceAllLiteralString(err.Error(), "it needs a value")
	return fmt.Sprintf("%s (see %s --help)", text, command)
}
