package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// RetriesExhausted is the reason for giving up records, in Lambda's words.
const RetriesExhausted = "RetryAttemptsExhausted"

// Failure is one line of a failure file: records that a mapping has given up,
// or a window whose final invocation failed. It has the form of the objects that
// Lambda writes to an S3 destination.
type Failure struct {
	Version        string         `json:"version"` // "1.0"
	Timestamp      time.Time      `json:"timestamp"`
	RequestContext FailureRequest `json:"requestContext"`
	BatchInfo      FailureBatch   `json:"DDBStreamBatchInfo"`
	// Payload is the event that failed last, records and window included.
	Payload json.RawMessage `json:"payload"`
}

// FailureRequest names the invocation that failed and the reason for giving up.
type FailureRequest struct {
	Mapping   string `json:"mapping"`
	Condition string `json:"condition"` // RetriesExhausted
	Attempts  int    `json:"approximateInvokeCount"`
	Error     string `json:"error,omitempty"` // the handler's last error
}

// FailureBatch identifies the records that failed. The sequence numbers are those of the
// first and the last record, and are missing for a window's final invocation.
type FailureBatch struct {
	StreamARN string `json:"streamArn"`
	ShardID   string `json:"shardId"`
	Size      int    `json:"batchSize"` // records
	First     string `json:"startSequenceNumber,omitempty"`
	Last      string `json:"endSequenceNumber,omitempty"`
}

// appendFailure adds a line to the file and syncs it. After the next checkpoint, only this file
// has the records.
func appendFailure(path string, f Failure) error {
	line, err := json.Marshal(f)
	if err == nil {
		err = appendLine(path, append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing %d failed records of stream shard %s to %s: %w", f.BatchInfo.Size, f.BatchInfo.ShardID, path, err)
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
