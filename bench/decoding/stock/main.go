// Command stock is the stream function that most have: it decodes a batch into
// aws-lambda-go's events and counts the records of each key.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(count) }

// answer is what Lambda wants of a window's delivery.
type answer struct {
	State map[string]int `json:"state"`
}

func count(_ context.Context, event events.DynamoDBEvent) (answer, error) {
	counts := make(map[string]int)
	for _, r := range event.Records {
		counts[r.Change.Keys["pk"].String()]++
	}
	return answer{counts}, nil
}
