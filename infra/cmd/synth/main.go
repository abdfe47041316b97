// Command synth makes the stack's template for the CDK's command line. Run it by make synth, deploy or destroy.
package main

import (
	"fmt"
	"os"

	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra"
)

// dist is the output folder of make functions, relative to infra.
const dist = "../dist"

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "hotshard can't be deployed like this:\n%v\n", err)
		os.Exit(1)
	}
}

func run() error {
	defer jsii.Close()
	if err := checkBundles(dist, infra.Functions); err != nil {
		return err
	}
	app, err := infra.New(nil, dist, "")
	if err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
