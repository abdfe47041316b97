package main

import (
	"context"
	"errors"
	"fmt"
)

// RebuildCmd is hotshard rebuild.
type RebuildCmd struct {
	deployment
	targets
	All bool `help:"Instead of --type and --name: rebuild all counters and boards, and all events that are rolled up."`
}

// Validate returns an error if the flags are invalid.
func (c *RebuildCmd) Validate() error {
	if c.All == (c.Name != "") {
		return errors.New("want one of --all and --type with --name")
	}
	return errors.Join(c.deployment.Validate(), c.targets.Validate())
}

// Run recomputes summaries from items. It does not wait for folds of counters.
func (c *RebuildCmd) Run(ctx context.Context, std streams) error {
	o := c.options()
	o.Repair, o.Eager = true, true
	report, err := c.audit(ctx, std, o, c.targets)
	if err != nil {
		return err
	}
	if n := report.Bad(); n > 0 {
		return fmt.Errorf("%d of %d summaries could not be rebuilt", n, report.Targets)
	}
	if n := report.TooOld; n > 0 && !c.All {
		return fmt.Errorf("%d of %d summaries are older than the retention and were not rebuilt", n, report.Targets)
	}
	if n := report.Open; n > 0 && !c.All {
		return fmt.Errorf("%d of %d summaries are still being written: run hotshard rebuild again after their hour or day has ended", n, report.Targets)
	}
	return nil
}
