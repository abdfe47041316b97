package throttle

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// describe returns a table, given by its name or ARN. The first call for a name asks the engine, whose description tells
// which table it is. It returns errInvalid if the engine does not describe the table.
func (c *call) describe(name string) (*table, error) {
	database := c.database()
	c.l.mu.Lock()
	t := c.l.tables.names[database+"\x00"+name]
	c.l.mu.Unlock()
	if t != nil {
		return t, nil
	}
	d, err := c.description(name)
	if err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	t = c.l.tables.find(database, d.Table.TableName, d.Table.TableArn)
	if t == nil {
		for index, warm := range c.l.warm[warmID(database, name)] {
			d.setWarm(index, warm)
		}
		t = newTable(c.l.gate, c.l.options, database, d)
	}
	c.l.tables.add(name, t)
	return t, nil
}

// warmID identifies the table whose warm throughput was set.
func warmID(database, name string) string { return database + "\x00" + tableName(name) }

func (c *call) description(name string) (d description, err error) {
	r, err := c.query("DescribeTable", map[string]string{"TableName": name})
	if err != nil {
		return d, fmt.Errorf("describing table %s: %w", name, err)
	}
	if !r.ok() || !decode(r.text, &d) || newKeys(d.Table.KeySchema).hash == "" {
		return d, errInvalid
	}
	d.Table.TableName = tableName(cmp.Or(d.Table.TableName, name))
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

// forget drops a table that a call changed, given by its name or ARN. The ARN in the engine's response, if it has one, tells
// which account's table it is.
func (c *call) forget(name, arn string) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	for _, t := range slices.Clone(c.l.tables.all) {
		if t.is(c.database(), tableName(name), arn) {
			c.l.tables.remove(t)
		}
	}
}

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
	r, err := c.send(object{})
	if err != nil {
		c.forget(body.TableName, "") // the engine may have made the change
		return nil, err
	}
	if r.resp.StatusCode >= http.StatusBadRequest && r.resp.StatusCode < http.StatusInternalServerError {
		return r.response(capacity{}) // it rejected the change
	}
	var changed struct{ TableDescription struct{ TableArn string } }
	decode(r.text, &changed) // without an ARN, tables of this name are dropped
	c.forget(body.TableName, changed.TableDescription.TableArn)
	indexes := append(body.GlobalSecondaryIndexes, warmIndex{"", body.WarmThroughput})
	for _, u := range body.GlobalSecondaryIndexUpdates {
		indexes = append(indexes, u.Create, u.Update)
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	id := warmID(c.database(), body.TableName)
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
	return r.response(capacity{})
}

// warmIndex has a global index's warm throughput, or, without a name, the table's.
type warmIndex struct {
	IndexName      string
	WarmThroughput warmThroughput
}
