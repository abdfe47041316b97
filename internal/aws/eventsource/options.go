package eventsource

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

// Handler is a Lambda function: it receives an event's JSON and returns a response's JSON.
// lambda.NewHandler returns one. The Mapping reuses the payload after Invoke returns.
type Handler interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// MappingOptions set which stream a Mapping reads and how it invokes its handler. The limits are those of Lambda's
// event source mappings for DynamoDB. Fields without a default are required.
type MappingOptions struct {
	Name    string  // of the mapping; the partition key of its checkpoints
	Source  Source  // the stream
	Handler Handler // invoked by one goroutine for each stream shard

	Checkpoints     CheckpointAPI // client of the checkpoint table
	CheckpointTable string        // see CheckpointTable and CreateTables

	BatchSize      int           // most records of an invocation, 1 to 10,000; default 100
	BatchingWindow time.Duration // how long to wait for more records, up to 300 s; default 0
	// TumblingWindow is the length of tumbling windows: whole seconds, up to 900 s; 0 for none. A window ends with the
	// first record that was created after it, or IdleWindow after its end if no record arrives.
	TumblingWindow time.Duration
	// IdleWindow is how long a window stays open after its end while its stream shard
	// is empty: more than 0, up to 2 min. Default 2 min, which Lambda waits at most.
	IdleWindow time.Duration

	// Attempts is how often a record is delivered before it is given up; default 10. A failed batch is split before.
	// Lambda's default is without a limit.
	Attempts int

	BackOff      time.Duration // before the second attempt, then doubled up to 50 times that; default 100 ms
	PollInterval time.Duration // between reads of an empty stream shard; default 50 ms; 250 ms or more after 20 empty reads

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default; payloads are not logged
}

// maxIdleWindow is the longest time for which Lambda keeps the window of an empty stream shard open.
const maxIdleWindow = 2 * time.Minute

// withDefaults returns the options with their defaults.
func (o MappingOptions) withDefaults() MappingOptions {
	o.BatchSize = cmp.Or(o.BatchSize, 100)
	o.Attempts = cmp.Or(o.Attempts, 10)
	o.IdleWindow = cmp.Or(o.IdleWindow, maxIdleWindow)
	o.BackOff = cmp.Or(o.BackOff, 100*time.Millisecond)
	o.PollInterval = cmp.Or(o.PollInterval, 50*time.Millisecond)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
