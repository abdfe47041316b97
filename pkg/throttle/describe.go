package throttle

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// describe returns a table, given by its name or ARN. The first call for a name asks the engine, whose description tells
// which table it is. It returns a rejection, which is errInvalid, if the engine does not describe the table.
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
		t = newTable(c.l.gate, c.l.options, database, d)
	}
	c.l.tables.add(name, t)
	return t, nil
}

func (c *call) description(name string) (d description, err error) {
	r, err := c.query("DescribeTable", map[string]string{"TableName": name})
	if err != nil {
		return d, fmt.Errorf("describing table %s: %w", name, err)
	}
	if !r.ok() || !decode(r.text, &d) || newKeys(d.Table.KeySchema).hash == "" {
		return d, rejection{r.exception()}
	}
	d.Table.TableName = tableName(cmp.Or(d.Table.TableName, name))
	return d, nil
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
// table.
func changeTable(c *call) (*http.Response, error) {
	var body struct{ TableName string }
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
	return r.response(capacity{})
}
