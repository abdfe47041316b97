package dynamo_test

import (
	"errors"
	"testing"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
)

// TestThrottleScope checks the scope of throttles with one reason or several.
func TestThrottleScope(t *testing.T) {
	for _, c := range []struct {
		err  error
		want dynamo.Scope
	}{
		{errors.New("other"), dynamo.NotThrottled},
		{libtest.Hot(), dynamo.Unknown},
		{libtest.Hot(libtest.TableHot), dynamo.KeyRange},
		{libtest.Hot(libtest.IndexHot), dynamo.IndexKeyRange},
		{libtest.Hot(libtest.TableHot, libtest.IndexHot, "TableWriteAccountLimitExceeded"), dynamo.IndexKeyRange},
		{libtest.Hot("IndexWriteMaxOnDemandThroughputExceeded", libtest.TableHot), dynamo.KeyRange},
		{libtest.Hot("IndexWriteProvisionedThroughputExceeded"), dynamo.WholeTable},
		{libtest.Hot("TableWriteAccountLimitExceeded"), dynamo.WholeTable},
	} {
		if got := dynamo.ThrottleScope(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
