package table_test

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// stored has readings as the articles' Python stores them over 16 write shards; testdata/fixedcount.py made it.
//
//go:embed testdata/fixedcount.tsv
var stored string

// reading is a line of stored.
type reading struct {
	sensor, stamp string
	pk16, pk32    string
	sk            string
}

func readings(t *testing.T) (list []reading) {
	t.Helper()
	for line := range strings.Lines(stored) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 {
			t.Fatalf("line %q", line)
		}
		list = append(list, reading{f[0], f[1], f[2], f[3], f[4]})
	}
	return list
}

func (r reading) key() table.Item {
	return table.Item{"customer": libtest.Str(r.sensor), "placed": libtest.Str(r.stamp)}
}

const group = "readings" // the key of the sensors' count

// sensors returns the table of the readings.
func sensors(client table.Client, name string, counts table.Counts) table.Table {
	return table.Table{
		Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Shards: counts, Layout: table.HybridBuckets{Bucket: shard.Hour.Labeled("2006-01-02-15"), Stamp: shard.Micros, Group: group},
	}
}

// TestKeysOfPython checks that the library stores a reading where Python does, with 16 write shards and with 32.
func TestKeysOfPython(t *testing.T) {
	db := &lastPut{}
	for _, r := range readings(t) {
		for n, want := range map[table.Fixed]string{16: r.pk16, 32: r.pk32} {
			readings := sensors(db, "readings", n)
			require.NoError(t, readings.Put(t.Context(), r.key(), libtest.Epoch))
			if pk, sk := libtest.Text(db.item["customer"]), libtest.Text(db.item["placed"]); pk != want || sk != r.sk {
				t.Errorf("%s at %s is under %s, %s; want %s, %s", r.sensor, r.stamp, pk, sk, want, r.sk)
			}
		}
	}
}

// lastPut records the last item that was put.
type lastPut struct {
	table.Client
	item table.Item
}

func (p *lastPut) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	p.item = in.Item
	return &dynamodb.PutItemOutput{}, nil
}
