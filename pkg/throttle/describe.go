package throttle

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// maxTables bounds the cached tables. A further table evicts another one and its buckets.
const maxTables = 256

// describe returns a table. The first call for it asks the engine. It returns errInvalid if the
// engine does not describe the table.
func (c *call) describe(name string) (*table, error) {
	id := c.tableID(name)
	c.l.mu.Lock()
	t := c.l.tables[id]
	c.l.mu.Unlock()
	if t != nil {
		return t, nil
	}
	d, err := c.description(name)
	if err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	for index, warm := range c.l.warm[id] {
		d.setWarm(index, warm)
	}
	c.l.mu.Unlock()
	return c.l.cacheTable(id, newTable(c.l.gate, c.l.options, d)), nil
}

func (c *call) description(name string) (d description, err error) {
	r, err := c.query("DescribeTable", map[string]string{"TableName": name})
	if err != nil {
		return d, fmt.Errorf("describing table %s: %w", name, err)
	}
	if !r.ok() || !decode(r.text, &d) || len(d.Table.KeySchema) == 0 {
		return d, errInvalid
	}
	return d, nil
}

// resize reads the size of a table or global index from the engine. Without a response the old size stays.
func (c *call) resize(s *partitions.Space) {
	d, err := c.description(s.Table)
	if err != nil {
		return
	}
	bytes := d.Table.TableSizeBytes
	for _, x := range d.Table.GlobalSecondaryIndexes {
		if x.IndexName == s.Index {
			bytes = x.IndexSizeBytes
		}
	}
	s.SetSize(bytes)
}

// cacheTable caches a table, unless another call was faster.
func (l *Limiter) cacheTable(id string, t *table) *table {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.tables[id]; known != nil {
		return known
	}
	for old := range l.tables {
		if len(l.tables) < maxTables {
			break
		}
		delete(l.tables, old)
	}
	l.tables[id] = t
	return t
}

func (c *call) forget(name string) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	delete(c.l.tables, c.tableID(name))
}

func (c *call) tableID(name string) string { return c.database() + "\x00" + name }

// database identifies a database: an engine may have one for each access key and Region.
func (e *exchange) database() string {
	_, scope, _ := strings.Cut(e.req.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := append(strings.Split(scope, "/"), "", "", "") // access key, day, region, ...
	return strings.Join([]string{e.req.URL.Host, parts[0], parts[2]}, "\x00")
}

// changeTable passes a call that creates, changes or deletes a table, and drops the cached
// table. It notes the warm throughput, which DynamoDB Local does not describe.
func changeTable(c *call) (*http.Response, error) {
	var body struct {
		TableName                   string
		WarmThroughput              warmThroughput
		GlobalSecondaryIndexes      []warmIndex
		GlobalSecondaryIndexUpdates []struct{ Create, Update warmIndex }
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	defer c.forget(body.TableName)
	resp, err := c.passThrough()
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	id, indexes := c.tableID(body.TableName), append(body.GlobalSecondaryIndexes, warmIndex{"", body.WarmThroughput})
	for _, u := range body.GlobalSecondaryIndexUpdates {
		indexes = append(indexes, u.Create, u.Update)
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.operation != "UpdateTable" {
		delete(c.l.warm, id)
	}
	for _, x := range indexes {
		if x.WarmThroughput == (warmThroughput{}) || c.l.warm[id] == nil && len(c.l.warm) >= maxTables {
			continue
		}
		if c.l.warm[id] == nil {
			c.l.warm[id] = map[string]warmThroughput{}
		}
		c.l.warm[id][x.IndexName] = x.WarmThroughput
	}
	return resp, nil
}

// warmIndex has a global index's warm throughput, or, without a name, the table's.
type warmIndex struct {
	IndexName      string
	WarmThroughput warmThroughput
}
