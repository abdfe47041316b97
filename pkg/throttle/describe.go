package throttle

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// describe returns the table with a name, from the cache or from the engine. It returns errInvalid if the engine does
// not describe the table.
func (c *call) describe(name string) (*table, error) {
	c.l.mu.Lock()
	t := c.l.tables[c.tableKey(name)]
	c.l.mu.Unlock()
	if t != nil {
		return t, nil
	}
	d, err := c.fetchDescription(name)
	if err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if t = c.l.tables[c.tableKey(name)]; t == nil { // another call may have added it
		t = newTable(c.l.gate, c.l.options, c.database(), d)
		c.l.tables.add(c.tableKey(name), t)
	}
	return t, nil
}

func (c *call) tableKey(name string) string { return c.database() + "\x00" + name }

// fetchDescription asks the engine for a table's description. The error is a rejection if the response has none.
func (c *call) fetchDescription(nameOrARN string) (d description, err error) {
	r, err := c.askEngine("DescribeTable", map[string]string{"TableName": nameOrARN})
	if err != nil {
		return d, fmt.Errorf("describing table %s: %w", nameOrARN, err)
	}
	if !r.ok() || !decode(r.text, &d) || newKeys(d.Table.KeySchema).hash == "" {
		return d, rejection{r.exception()}
	}
	d.Table.TableName = tableName(cmp.Or(d.Table.TableName, nameOrARN))
	return d, nil
}

// forget drops a cached table that a call changed.
func (c *call) forget(name string) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	delete(c.l.tables, c.tableKey(name))
}

// database returns the request's host, access key and Region, joined by NUL. Without a signature the last two are "".
func (c *call) database() string {
	_, scope, _ := strings.Cut(c.req.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := append(strings.Split(scope, "/"), "", "", "") // access key, day, region, ...
	return strings.Join([]string{c.req.URL.Host, parts[0], parts[2]}, "\x00")
}

// changeTable passes a call that creates, changes or deletes a table to the engine. It drops the cached table if the
// engine made the change or may have made it.
func changeTable(c *call) (*http.Response, error) {
	var body struct{ TableName string }
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	r, err := c.send(object{})
	if err != nil {
		c.forget(body.TableName)
		return nil, err
	}
	rejected := r.resp.StatusCode >= http.StatusBadRequest && r.resp.StatusCode < http.StatusInternalServerError
	if !rejected {
		c.forget(body.TableName)
	}
	return r.response(capacityReport{})
}
