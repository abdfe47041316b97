package explain

// loggedBy says, for each SDK, where an error has the reasons of its throttle.
var loggedBy = []string{
	`Python      e.response.get("ThrottlingReasons", e.response.get("throttlingReasons"))`,
	`JavaScript  e.ThrottlingReasons ?? e.throttlingReasons`,
	`Java        e.throttlingReasons()`,
	`Go          e.ThrottlingReasons, in JSON: its strings are pointers`,
	`.NET        e.ThrottlingReasons, serialized`,
	`Ruby        e.data.throttling_reasons`,
	`PHP         $e->get("ThrottlingReasons") ?? $e->get("throttlingReasons")`,
	`Rust        e.throttling_reasons()`,
}

// next returns lines on what to do about throttles without a finding, or without throttles; nil if all have a finding.
func (c *collection) next(report *Report) []string {
	source := []string{"--stack"}
	if !c.options.Deployment {
		source = []string{"--table", c.firstTable}
	}
	command := c.Commands.Line("explain", append(source, "--log", "FILE")...)
	switch {
	case report.Throttles > 0 && report.Unknown == 0:
		return nil
	case report.Throttles == 0:
		return []string{"If a program of yours reports throttles of this time, pass its log: " + command}
	}
	lines := append([]string{"To know the reasons, log those that errors of single calls have, and pass the log: " + command}, loggedBy...)
	return append(lines, "Batches and transactions have none. For them, compare the throttled keys with those of single calls, or log the keys of unprocessed items.")
}
