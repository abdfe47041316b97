// Command streamfunction is a Lambda function of your own on the stream of a hotshard table: it posts each change of an
// item to the URL in TARGET. A stream allows two readers, so deploy with readers=one. docs/deploy.md has the mapping.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	if os.Getenv("TARGET") == "" {
		log.Fatal("set TARGET to a URL")
	}
	lambda.Start(send)
}

// send posts the records of a batch, in order. If one can't be posted, Lambda redelivers the batch from it on.
func send(ctx context.Context, batch events.DynamoDBEvent) (answer events.DynamoDBEventResponse, err error) {
	for _, record := range batch.Records {
		if err := post(ctx, record); err != nil {
			slog.Error("not posted", "sequence_number", record.Change.SequenceNumber, "error", err)
			answer.BatchItemFailures = []events.DynamoDBBatchItemFailure{{ItemIdentifier: record.Change.SequenceNumber}}
			return answer, nil
		}
	}
	return answer, nil
}

// post posts a record as JSON to TARGET. A status of 300 or more is an error.
func post(ctx context.Context, record events.DynamoDBEventRecord) error {
	body, err := json.Marshal(record)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("TARGET"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("posting a change: the URL in TARGET responded with status %s", response.Status)
	}
	return nil
}
