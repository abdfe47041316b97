package throttle

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// controlPath begins the paths of the proxy's own calls. No DynamoDB operation has a path.
const controlPath = "/_throttle"

// Report is the response of GET /_throttle.
type Report struct {
	Since     time.Time   `json:"since"`     // start or last reset; throttles are counted since then
	Tables    []Resource  `json:"tables"`    // each table before its global indexes, by name
	Totals    []Total     `json:"totals"`    // all throttles, by table, index and reason
	Throttled []Throttled `json:"throttled"` // the 100 most throttled keys, most first
}

// Resource is a table or a global index that a request has named. A local index shares its
// table's partitions. Levels of 0 RCU/s or WCU/s have no limit.
type Resource struct {
	Table     string `json:"table"`
	Index     string `json:"index,omitempty"`
	ARN       string `json:"arn"`
	AccessKey string `json:"access_key"` // engines may have a database for each access key and Region
	Region    string `json:"region"`
	Levels
	Partitions []Partition `json:"partitions"`
}

// Partition is a range of hashes of partition keys: 16 hexadecimal digits, both included.
type Partition struct {
	Number int    `json:"partition"` // in the order of hashes; a split renumbers those that follow
	From   string `json:"from"`
	To     string `json:"to"`
	Levels
}

// Levels are limits in WCU/s and RCU/s, and the units left, which are negative for a debt.
type Levels struct {
	WCU         int64   `json:"wcu"`
	WriteTokens float64 `json:"write_tokens"`
	RCU         int64   `json:"rcu"`
	ReadTokens  float64 `json:"read_tokens"`
}

// Total counts all denials of one table or global index for one reason. The first 1,024 tables and indexes are counted
// separately. All others share totals with an empty Table.
type Total struct {
	Reason  string  `json:"reason"`
	Table   string  `json:"table"`
	Index   string  `json:"index,omitempty"`
	Count   int64   `json:"count"`
	Units   float64 `json:"units"`   // capacity units that the denied requests needed: a lower bound
	Seconds int64   `json:"seconds"` // different seconds that had such denials
}

// Throttled counts the denials of one partition key for one reason. Key is empty for reads of all partitions (Scan).
type Throttled struct {
	Reason string  `json:"reason"`
	Table  string  `json:"table"`
	Index  string  `json:"index,omitempty"`
	Key    string  `json:"key"`             // as [Limiter.Partition] takes it
	Count  float64 `json:"count"`           // lower bound
	Error  float64 `json:"error,omitempty"` // the most by which Count may be too low
}

// control returns the handler of the proxy's own calls. It rejects calls by pages of other sites.
func (l *Limiter) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPath, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, l.Report()) })
	mux.HandleFunc("POST "+controlPath+"/reset", func(w http.ResponseWriter, _ *http.Request) {
		l.Restart()
		writeJSON(w, l.Report())
	})
	mux.HandleFunc("POST "+controlPath+"/split", l.splitOnRequest)
	return http.NewCrossOriginProtection().Handler(mux)
}

// Restart makes all partitions new: initial ranges, one second's tokens, no statistics, no held items. The history of
// throttled writes stays. A request in flight is counted, but does not debit the new buckets.
func (l *Limiter) Restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = newCounts(l.options.Now())
	l.tables = tables{}
}

// splitOnRequest splits the partitions of a table or index, in each database that has it.
func (l *Limiter) splitOnRequest(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Table string `json:"table"`
		Index string `json:"index"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	if err != nil || json.Unmarshal(text, &body, json.RejectUnknownMembers(true)) != nil || body.Table == "" {
		writeError(w, http.StatusBadRequest, "ValidationException", `want {"table":NAME,"index":NAME}; index is optional`)
		return
	}
	table, _, _, err := dynamo.TableName(body.Table)
	if err != nil {
		writeError(w, http.StatusBadRequest, "ValidationException", err.Error())
		return
	}
	named := slices.DeleteFunc(l.spaces(), func(s databaseSpace) bool { return s.Table != table || s.Index != body.Index })
	if len(named) == 0 {
		writeError(w, http.StatusNotFound, "ResourceNotFoundException",
			"no request has named this table or global index since the last reset: send a request for it first")
		return
	}
	for _, s := range named {
		s.Split()
	}
	writeJSON(w, l.Report())
}

// databaseSpace is a table or global index in one of the engine's databases.
type databaseSpace struct {
	*partitions.Space
	database string // as [call.database] returns it
}

// spaces returns the known tables and global indexes, by table name, database and index name.
func (l *Limiter) spaces() []databaseSpace {
	l.mu.Lock()
	defer l.mu.Unlock()
	var spaces []databaseSpace
	for _, t := range l.tables {
		for _, s := range t.spaces() {
			spaces = append(spaces, databaseSpace{s, t.database})
		}
	}
	slices.SortFunc(spaces, func(a, b databaseSpace) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.database, b.database), strings.Compare(a.Index, b.Index))
	})
	return spaces
}

// Report returns the state of all known tables and what was throttled.
func (l *Limiter) Report() Report {
	spaces := l.spaces()
	l.mu.Lock()
	report := Report{Since: l.stats.since.UTC().Truncate(time.Millisecond), Tables: []Resource{}, Throttled: []Throttled{}}
	report.Totals = l.stats.totals()
	keys := l.stats.keys.Entries()
	l.mu.Unlock()
	for _, s := range spaces {
		report.Tables = append(report.Tables, s.resource())
	}
	for _, k := range keys[:min(len(keys), maxListed)] {
		parts := strings.SplitN(k.Key, "\x00", 4) // joined by throttledKey
		report.Throttled = append(report.Throttled, Throttled{Table: parts[0], Index: parts[1], Reason: parts[2], Key: parts[3], Count: float64(k.Low()), Error: float64(k.Err)})
	}
	return report
}

func (s databaseSpace) resource() Resource {
	state := s.State()
	database := strings.Split(s.database, "\x00") // host, access key, Region
	r := Resource{
		Table: s.Table, Index: s.Index, ARN: s.ARN, AccessKey: database[1], Region: database[2],
		Levels: levels(state.Reads, state.Writes),
	}
	for i, p := range state.Partitions {
		r.Partitions = append(r.Partitions, Partition{Number: i, From: fmt.Sprintf("%016x", p.First), To: fmt.Sprintf("%016x", p.Last), Levels: levels(p.Reads, p.Writes)})
	}
	return r
}

func levels(reads, writes partitions.Level) Levels {
	return Levels{writes.Limit, writes.Tokens, reads.Limit, reads.Tokens}
}

func writeJSON(w http.ResponseWriter, v any) {
	text := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

// writeError writes an error in DynamoDB's form.
func writeError(w http.ResponseWriter, status int, exception, message string) {
	text := encode(map[string]string{"__type": exceptionPrefix + exception, "message": message})
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}
