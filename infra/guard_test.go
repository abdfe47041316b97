package infra

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// grantGuard is a proxy before the engine for a function or the command line. As IAM does, it forwards only calls with a grant.
type grantGuard struct {
	url     string
	granted []string          // in the form of text
	key     string            // access key for the engine; "" for the caller's
	tables  map[string]string // the tables' names in grants, by table name

	mu     sync.Mutex
	seen   map[string]bool
	denied []string
}

func newGrantGuard(t *testing.T, granted []string, engine string, tables map[string]string) *grantGuard {
	t.Helper()
	g := &grantGuard{granted: granted, tables: tables, seen: map[string]bool{}}
	g.url = enginetest.Proxy(t, engine, g.handle)
	return g
}

func (g *grantGuard) handle(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if g.key != "" {
		r.Header.Set("Authorization", credential.ReplaceAllString(r.Header.Get("Authorization"), "Credential="+g.key+"/"))
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	for _, call := range g.neededGrants(operation, body) {
		if !g.allow(call) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":%q}`, call)
			return
		}
	}
	forward.ServeHTTP(w, r)
}

var credential = regexp.MustCompile("Credential=[^/]*/")

func (g *grantGuard) allow(call string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.granted, call) {
		g.seen[call] = true
		return true
	}
	g.denied = append(g.denied, call)
	return false
}

// parts has the action of each member of a transaction.
var parts = map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}

// neededGrants returns the grants that IAM requires for a call.
func (g *grantGuard) neededGrants(operation string, body []byte) (list []string) {
	var in struct {
		TableName, IndexName string
		RequestItems         map[string]any
		TransactItems        []map[string]struct{ TableName string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return []string{err.Error()}
	}
	for table := range in.RequestItems {
		list = append(list, grantText(operation, g.tables[table], ""))
	}
	for _, item := range in.TransactItems {
		for part, of := range item {
			list = append(list, grantText(parts[part], g.tables[of.TableName], ""))
		}
	}
	if list == nil {
		list = []string{grantText(operation, g.tables[in.TableName], in.IndexName)}
	}
	return list
}

// unseen returns the grants that were not used.
func (g *grantGuard) unseen() []string {
	return slices.DeleteFunc(slices.Clone(g.granted), func(call string) bool { return g.seen[call] })
}
