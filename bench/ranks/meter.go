package ranks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/query"
)

// meter is a client that adds up the read units of its calls.
type meter struct {
	query.Client
	mu      sync.Mutex
	units   float64
	counted int // entries that queries of the index found
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units, m.counted = 0, 0
}

func (m *meter) add(capacity ...types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range capacity {
		m.units += *c.CapacityUnits
	}
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.GetItem(ctx, in, o...)
	if err == nil {
		m.add(*out.ConsumedCapacity)
	}
	return out, err
}

func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.BatchGetItem(ctx, in, o...)
	if err == nil {
		m.add(out.ConsumedCapacity...)
	}
	return out, err
}

// Query adds half a unit for a query that finds no item, for which DynamoDB Local reports none.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.Query(ctx, in, o...)
	if err != nil {
		return out, err
	}
	m.add(*out.ConsumedCapacity)
	m.mu.Lock()
	defer m.mu.Unlock()
	if *out.ConsumedCapacity.CapacityUnits == 0 {
		m.units += 0.5
	}
	if in.IndexName != nil {
		m.counted += int(out.Count)
	}
	return out, nil
}

// answer has the fields of an answer that are compared.
type answer struct {
	Rank      int
	RankError int `json:"rank_error"`
}

func parseAnswer(r *httptest.ResponseRecorder) (a answer, err error) {
	if r.Code != http.StatusOK {
		return a, fmt.Errorf("status %d: %s", r.Code, r.Body)
	}
	return a, json.Unmarshal(r.Body.Bytes(), &a)
}
