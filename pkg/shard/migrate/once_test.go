package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// lossyClient is a client that loses the answers of transactions with an update.
type lossyClient struct {
	*dynamodb.Client
	lost int
}

func (l *lossyClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := l.Client.TransactWriteItems(ctx, in, o...)
	if err == nil && in.TransactItems[0].Update != nil {
		l.lost++
		return nil, &types.InternalServerError{Message: aws.String("lost")}
	}
	return out, err
}

// TestUpdateAppliesOnce checks that an ADD applies once, however many answers are lost.
func TestUpdateAppliesOnce(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	from, to := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 2), libtest.Orders(t, db, db, table.CalculatedSuffix{}, 5)
	client := &lossyClient{Client: db}
	m := migrate.Migration{Client: client, From: from, To: to, Phase: migrate.WriteBoth}
	key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("x")}
	_, err := m.Update(t.Context(), key, &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
	}, libtest.Epoch)
	if !errors.Is(err, shard.ErrUnavailable) || client.lost < 2 {
		t.Fatalf("%d answers were lost, error %v; want several and ErrUnavailable", client.lost, err)
	}
	if it, err := m.Get(t.Context(), key, libtest.Epoch); err != nil || libtest.Text(it["n"]) != "1" {
		t.Fatalf("after %d lost answers: %v, %v; want n = 1", client.lost, it, err)
	}
}

// TestCopyOfItemWithTextAsTTL checks that Copy copies an item whose TTL attribute is text, which TTL ignores.
func TestCopyOfItemWithTextAsTTL(t *testing.T) {
	db := enginetest.Client(t)
	from, to := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 4), libtest.Orders(t, db, db, table.CalculatedSuffix{}, 10)
	it := placed("acme", 1)
	it["expires_at"] = libtest.Str(fmt.Sprint(libtest.Epoch.Unix() - 3600))
	if err := from.Put(t.Context(), it, libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth, TTL: "expires_at"}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Missing != 1 {
		t.Fatalf("Verify = %+v, %v; want 1 missing", c, err)
	}
	if done, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 1 {
		t.Fatalf("Copy = %+v, %v; want 1 changed", done, err)
	}
	if _, err := to.Get(t.Context(), it, libtest.Epoch); err != nil {
		t.Fatal(err)
	}
}

// TestExpiredItemsAreNoDifference checks that Verify, Copy and Drop ignore expired items. TTL deletes the old and the new
// item at different times.
func TestExpiredItemsAreNoDifference(t *testing.T) {
	db := enginetest.Client(t)
	from, to := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 2), libtest.Orders(t, db, db, table.CalculatedSuffix{}, 5)
	m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth}
	put := func(sharded *table.Table, n int, expires int64) {
		t.Helper()
		it := placed("acme", n)
		it["expires_at"] = libtest.Num(expires)
		if err := sharded.Put(t.Context(), it, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	now := libtest.Epoch.Unix()
	put(from, 1, now)
	put(to, 2, now-100)
	put(from, 3, now-6*365*24*3600) // too old for TTL
	put(from, 4, now+3600)
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Missing != 3 || c.Extra != 1 {
		t.Fatalf("Verify without TTL = %+v, %v; want 3 missing and 1 extra", c, err)
	}
	m.TTL = "expires_at"
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Missing != 2 || c.Extra != 0 {
		t.Fatalf("Verify = %+v, %v; want 2 missing", c, err)
	}
	if done, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 2 {
		t.Fatalf("Copy = %+v, %v; want 2 changed", done, err)
	}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || !c.Equal() {
		t.Fatalf("Verify after Copy = %+v, %v", c, err)
	}
	m.Phase = migrate.WriteNew
	if done, err := m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 3 || done.Kept != 0 {
		t.Fatalf("Drop = %+v, %v; want 3 changed", done, err)
	}
}
