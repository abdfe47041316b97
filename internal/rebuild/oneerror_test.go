package rebuild_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// failing returns a client whose queries of partition keys with a prefix fail.
func (r *rig) failing(prefix string, err error) *dynamodb.Client {
	return enginetest.Before(r.db, func(in any) error {
		if in, ok := in.(*dynamodb.QueryInput); ok && strings.HasPrefix(dynamo.Text(in.ExpressionAttributeValues, ":pk"), prefix) {
			return err
		}
		return nil
	})
}

// TestOneErrorFailsOneTarget checks that DynamoDB's error for one summary leaves the checks of the others
// alone. A missing table ends the run.
func TestOneErrorFailsOneTarget(t *testing.T) {
	r := newRig(t)
	at := hour()
	for _, entity := range []string{"a", "bad", "c"} {
		r.put(t, entity, at, 1)
	}
	r.fold(t)
	o := rebuild.Options{Names: r.names, Rollups: true, EventRetention: retention}
	invalid := &smithy.GenericAPIError{Code: "ValidationException", Message: "The BETWEEN operator requires upper bound"}
	report := all(t, rebuild.New(o, r.failing("E#bad#", invalid)))
	if report.Targets != 3 || report.Right != 2 || report.Bad() != 1 || len(report.Findings) != 1 ||
		report.Findings[0].Name != "bad" || report.Findings[0].State != rebuild.Failed || !strings.Contains(report.Findings[0].Detail, "BETWEEN") {
		t.Errorf("report %+v, want one failed target of three", report)
	}
	absent := &types.ResourceNotFoundException{}
	a := rebuild.New(o, r.failing("E#bad#", absent))
	if _, err := a.Run(t.Context(), a.All(rebuild.Range{}), nil); !errors.Is(err, absent) {
		t.Errorf("without a table: %v", err)
	}
}
