package awshttp_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awstransport "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/awshttp"
)

// burst is how many updates one call of the API has under way.
const burst = 32

// BenchmarkBursts is an update of 5 ms, 32 at a time, all at once again when the last is
// done, as a container does that has many counters in each request. It tells the share of
// updates that had to open a connection, the first burst left out.
func BenchmarkBursts(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(*server) *dynamodb.Client
	}{
		{"sdk", (*server).stock},
		{"ours", func(s *server) *dynamodb.Client { return s.client(awshttp.AWS) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newServer(b)
			s.hold = 5 * time.Millisecond
			client := c.make(s)
			updates(b, client, burst)
			before := s.opened.Load()
			b.ResetTimer()
			for range b.N {
				updates(b, client, burst)
			}
			b.ReportMetric(100*float64(s.opened.Load()-before)/float64(b.N*burst), "%opened")
		})
	}
}

// stock is the SDK's own client, but that it trusts the server.
func (s *server) stock() *dynamodb.Client {
	config := s.config()
	config.HTTPClient = awstransport.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	})
	return dynamodb.NewFromConfig(config)
}

// updates makes n updates side by side.
func updates(tb testing.TB, client *dynamodb.Client, n int) {
	tb.Helper()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := update(tb.Context(), client); err != nil {
				tb.Error(err)
			}
		})
	}
	group.Wait()
}

func update(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("items"), UpdateExpression: aws.String("ADD n :one"),
		Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "p"}},
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	return err
}

// TestBurstsFindTheirConnections again: at most one update in twenty opens one.
func TestBurstsFindTheirConnections(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.hold = 5 * time.Millisecond
	client := s.client(awshttp.AWS)
	updates(t, client, 2*burst) // so that there are connections enough, however slow the machine opens them
	before := s.opened.Load()
	const bursts = 10
	for range bursts {
		updates(t, client, burst)
	}
	if opened := s.opened.Load() - before; opened > bursts*burst/20 {
		t.Errorf("%d updates opened %d connections", bursts*burst, opened)
	}
}
