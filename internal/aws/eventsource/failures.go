package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Failure is one line of a failure file: records that a mapping gave up, or a window whose final invocation failed.
type Failure struct {
	Mapping     string    `json:"mapping"`
	StreamShard string    `json:"streamShard"`
	Time        time.Time `json:"time"`
	Records     int       `json:"records"`
	Attempts    int       `json:"attempts"`
	Error       string    `json:"error"` // of the last attempt
	// Payload is the event that failed last, records and window included.
	Payload json.RawMessage `json:"payload"`
}

// appendFailure adds a line to the file and syncs it. After the next checkpoint, only this file has the records.
func appendFailure(path string, f Failure) error {
	line, err := json.Marshal(f)
	if err == nil {
		err = appendLine(path, append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing %d failed records of stream shard %s to %s: %w", f.Records, f.StreamShard, path, err)
	}
	return nil
}

func appendLine(path string, line []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Sync(), f.Close())
}
