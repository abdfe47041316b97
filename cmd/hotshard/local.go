package main

import (
	"context"
	"errors"
)

// LocalCmd is hotshard local.
type LocalCmd struct{}

// Run runs the whole system.
func (*LocalCmd) Run(context.Context, streams) error { return errors.New("local: not there yet") }
