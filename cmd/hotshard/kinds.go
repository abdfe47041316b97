package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// kindVars returns the variables of flags that take a kind. ${kinds} and ${summarized} are the enums: all kinds, and those
// with summaries. ${kinds_text} and ${summarized_text} are the same in a sentence.
func kindVars() kong.Vars {
	vars := kong.Vars{}
	for name, kinds := range map[string][]schema.Kind{"kinds": schema.Kinds(), "summarized": schema.Summarized()} {
		var names []string
		for _, k := range kinds {
			names = append(names, string(k))
		}
		last := len(names) - 1
		vars[name] = strings.Join(names, ",")
		vars[name+"_text"] = strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return vars
}
