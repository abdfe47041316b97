package functions_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// cloudWatch is a fake of CloudWatch that records the values of PutMetricData.
type cloudWatch struct {
	url string
	t   *testing.T

	mu   sync.Mutex
	data []cbor.Map
}

func newCloudWatch(t *testing.T) *cloudWatch {
	c := &cloudWatch{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ServeHTTP implements the SDK's protocol, Smithy RPC v2 CBOR.
func (c *cloudWatch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c.put(r); err != nil {
		c.t.Error(err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	_, _ = w.Write(cbor.Encode(cbor.Map{}))
}

func (c *cloudWatch) put(r *http.Request) error {
	if !strings.HasSuffix(r.URL.Path, "/operation/PutMetricData") || r.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" {
		return fmt.Errorf("CloudWatch got %s %s", r.Method, r.URL.Path)
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			return err
		}
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	input, err := cbor.Decode(content)
	if err != nil {
		return err
	}
	fields, _ := input.(cbor.Map)
	if fields["Namespace"] != cbor.String("Hotshard") {
		return fmt.Errorf("CloudWatch got the namespace %v", fields["Namespace"])
	}
	list, _ := fields["MetricData"].(cbor.List)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range list {
		c.data = append(c.data, d.(cbor.Map))
	}
	return nil
}

// takeValues returns the values since its last call, by name and dimensions.
func (c *cloudWatch) takeValues(tables schema.Names) (map[string]float64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := map[string]float64{}
	for _, d := range c.data {
		name := fmt.Sprint(d["MetricName"])
		for _, dim := range d["Dimensions"].(cbor.List) {
			name += " " + fmt.Sprint(dim.(cbor.Map)["Value"])
		}
		value, err := cbor.AsFloat64(d["Value"])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		got[strings.ReplaceAll(name, strings.TrimSuffix(tables.Items, "items"), "hotshard-")] = value
	}
	c.data = nil
	return got, nil
}
