package throttle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestOptions checks that the error for invalid options names each of them.
func TestOptions(t *testing.T) {
	good := []throttle.Options{
		{Partitions: 1, PartitionWCU: 1},
		{Partitions: 10_000, PartitionWCU: 100_000, PartitionRCU: 300_000, TableWCU: 1_000_000, TableQuota: 1_000_000, Burst: time.Hour, TopKeys: 10_000,
			SplitAfter: 24 * time.Hour, TransactionHold: time.Second},
	}
	for _, o := range good {
		if _, err := throttle.New(o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	bad := throttle.Options{Partitions: 10_001, PartitionWCU: -1, PartitionRCU: 300_001, TableWCU: -1, TableQuota: -1, Burst: -time.Second, TopKeys: -1,
		SplitAfter: 25 * time.Hour, TransactionHold: -1}
	_, err := throttle.New(bad)
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"the number of partitions is 10001", "a partition's write units a second is -1", "a partition's read units a second is 300001",
		"a table's write units a second is -1", "the burst is -1s", "the quota of a table is -1", "the number of keys in statistics is -1",
		"the time to a split is 25h0m0s: want up to 24h0m0s", "the hold of a transaction is -1ns: want up to 1s",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if _, err := throttle.New(throttle.Options{}); err == nil {
		t.Error("no partitions and no units: no error")
	}
}
