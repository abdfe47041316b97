// Package system runs the deployed system on one machine: the handlers of the four Lambda functions, an HTTP server for
// two of them, and event source mappings for the others.
//
//	running, err := system.Start(ctx, options)
//	if err != nil {
//		return err
//	}
//	fmt.Println(running.URL())
//	return running.Run(ctx) // until ctx ends; then it drains the stream and stops
package system
