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

	"github.com/hotshard/hotshard/internal/base/awshttp"
)

// burst is the number of updates that one call of the API has in flight.
const burst = 32

// BenchmarkBursts makes bursts of 32 updates of 5 ms, as a container does for requests with many counters. It reports the
// share of updates after the first burst that opened a connection.
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

// stock returns the SDK's default client, which trusts the server.
func (s *server) stock() *dynamodb.Client {
	config := s.config()
	config.HTTPClient = awstransport.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	})
	return dynamodb.NewFromConfig(config)
}

// updates makes n updates in parallel.
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

// TestBurstsReuseConnections checks that at most one of twenty updates opens a connection.
func TestBurstsReuseConnections(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.hold = 5 * time.Millisecond
	client := s.client(awshttp.AWS)
	updates(t, client, 2*burst) // opens enough connections even on a slow machine
	before := s.opened.Load()
	const bursts = 10
	for range bursts {
		updates(t, client, burst)
	}
	if opened := s.opened.Load() - before; opened > bursts*burst/20 {
		t.Errorf("%d updates opened %d connections, want at most %d", bursts*burst, opened, bursts*burst/20)
	}
}
