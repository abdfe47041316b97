package system

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Options say what to run.
type Options struct {
	Addr     string        // to listen on, as host:port
	Endpoint string        // of a DynamoDB-compatible engine; "" starts one
	DataDir  string        // where the started engine keeps its data; "" is memory
	Prefix   string        // of the tables' names
	Window   time.Duration // the detector's, in whole seconds
	Quiet    time.Duration // without much load, after which shard counts shrink; 0 is the function's default
	Control  string        // of shard counts: act, observe or off
	Limits   Limits        // between the functions and the engine
	Failures string        // file for the records that a function gave up
	Notices  io.Writer     // progress and the engine's licence line
	Log      *slog.Logger
}

// Validate reports all faults at once.
func (o Options) Validate() error {
	var faults []error
	if o.Endpoint != "" && o.DataDir != "" {
		faults = append(faults, errors.New("a data folder is for the engine that hotshard starts, not for another endpoint"))
	}
	if o.Window < time.Second || o.Window > 15*time.Minute || o.Window%time.Second != 0 {
		faults = append(faults, fmt.Errorf("the window is %v: want whole seconds, 1s to 15m", o.Window))
	}
	return errors.Join(faults...)
}

// batchingWindow is how long a delivery waits for more records. A write is in its
// summary within two of them.
const batchingWindow = 100 * time.Millisecond
