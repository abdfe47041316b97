package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/fold/audit"
)

// refusing answers queries of one partition key with an error.
type refusing struct {
	audit.Client
	pk  string
	err error
}

func (c refusing) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if pk, ok := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS); ok && strings.HasPrefix(pk.Value, c.pk) {
		return nil, &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Query", Err: c.err}
	}
	return c.Client.Query(ctx, in, o...)
}

// TestOneErrorIsOneSummarys, and the others are audited.
func TestOneErrorIsOneSummarys(t *testing.T) {
	r := newRig(t)
	at := hour()
	for _, entity := range []string{"a", "bad", "c"} {
		r.put(t, entity, at, 1)
	}
	r.fold(t)
	o := audit.Options{Names: r.names, Rules: r.rules, EventRetention: retention}
	invalid := &smithy.GenericAPIError{Code: "ValidationException", Message: "The BETWEEN operator requires upper bound"}
	report := all(t, r.auditorOver(t, refusing{r.db, "E#bad#", invalid}, o))
	if report.Targets != 3 || report.Right != 2 || report.Bad() != 1 || len(report.Findings) != 1 ||
		report.Findings[0].Name != "bad" || report.Findings[0].State != audit.Failed || !strings.Contains(report.Findings[0].Detail, "BETWEEN") {
		t.Errorf("%+v", report)
	}
	absent := &types.ResourceNotFoundException{}
	a := r.auditorOver(t, refusing{r.db, "E#bad#", absent}, o)
	if _, err := a.Run(t.Context(), a.All(audit.Range{}), nil); !errors.Is(err, absent) {
		t.Errorf("without a table: %v", err)
	}
}

// TestTheLastHourOfAll: an event of it, which others than hotshard have written.
func TestTheLastHourOfAll(t *testing.T) {
	r := newRig(t)
	r.addTo(t, "counter", 1, 1)
	r.update(t, r.names.Events, "E#far#9999-12-31#0", "9999-12-31T23:59:59.999Z#x", "SET #d = :d",
		item{":d": &types.AttributeValueMemberM{Value: item{"x": num(1)}}})
	r.fold(t)
	if report := all(t, r.auditor(t, nil)); report.Targets != 2 || report.Right != 2 {
		t.Errorf("%+v", report)
	}
	r.delete(t, r.names.Events, "E#far#9999-12-31#0", "9999-12-31T23:59:59.999Z#x")
	if report := all(t, r.auditor(t, hasty)); report.Right != 1 || report.States[audit.Fewer] != 1 {
		t.Errorf("without it: %+v", report)
	}
}
