package system

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hotshard/hotshard/internal/local"
)

// checkTime bounds the wait for an engine that is not ours.
const checkTime = 10 * time.Second

// CheckEngine finds out whether a DynamoDB-compatible engine answers at a URL. If
// not, the error is one line with the URL and the reason.
func CheckEngine(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	out, err := local.DynamoDB(endpoint, "").ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if err == nil && out.TableNames == nil {
		err = errors.New("its answer to ListTables has no TableNames")
	}
	if err != nil {
		return fmt.Errorf("no DynamoDB-compatible engine at %s: %w", endpoint, reason(err))
	}
	return nil
}

// reason takes from the SDK's chain of errors what a person needs.
func reason(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return unsent.Err
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknownCode {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return fmt.Errorf("it answers ListTables with HTTP status %d and no more that DynamoDB would", answer.HTTPStatusCode())
	}
	return err
}

// unknownCode is the SDK's for an answer that names none.
const unknownCode = "UnknownError"
