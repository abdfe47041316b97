package dynamo_test

import (
	"errors"
	"testing"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/wingtest"
)

func TestThrottleScope(t *testing.T) {
	for _, c := range []struct {
		err  error
		want dynamo.Scope
	}{
		{errors.New("other"), dynamo.NotThrottled},
		{wingtest.Hot(), dynamo.Unknown},
		{wingtest.Hot(wingtest.TableHot), dynamo.KeyRange},
		{wingtest.Hot(wingtest.IndexHot), dynamo.IndexKeyRange},
		{wingtest.Hot(wingtest.TableHot, wingtest.IndexHot, "TableWriteAccountLimitExceeded"), dynamo.IndexKeyRange},
		{wingtest.Hot("IndexWriteMaxOnDemandThroughputExceeded", wingtest.TableHot), dynamo.KeyRange},
		{wingtest.Hot("IndexWriteProvisionedThroughputExceeded"), dynamo.WholeTable},
		{wingtest.Hot("TableWriteAccountLimitExceeded"), dynamo.WholeTable},
	} {
		if got := dynamo.ThrottleScope(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
