// Command empty is a function that takes a payload and does nothing with it: what it
// costs is the way of the payload into the process.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(nothing{}) }

type nothing struct{}

// Invoke answers any payload.
func (nothing) Invoke(context.Context, []byte) ([]byte, error) { return []byte(`{"state":{}}`), nil }
