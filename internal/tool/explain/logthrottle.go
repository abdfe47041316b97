package explain

import (
	"cmp"
	"regexp"
	"strings"
)

// awsID matches AWS's request ids: 52 letters and digits. Engines have other ids, which labelled and requestID match by what
// SDKs print before or after them. A request has the same id wherever its throttle is logged.
var (
	awsID     = regexp.MustCompile(`\b[A-Z0-9]{52}\b`)
	labelled  = regexp.MustCompile(`(?:Request ID: |RequestID: |(?i:x-amzn-requestid)\W{1,6}|'RequestId': '|httpStatusCode\W{1,3}\d+,\s*\W?requestId\W{1,4})([0-9A-Za-z-]{20,64})`)
	requestID = regexp.MustCompile(`requestId\W{1,4}([0-9A-Za-z-]{20,64})\W{1,4}(?:statusCode|attempts)`)
)

// requestIDs returns the request ids of DynamoDB in a text.
func requestIDs(text string) (ids []string) {
	if !strings.Contains(text, "equest") && !strings.Contains(text, "EQUEST") {
		return nil
	}
	ids = awsID.FindAllString(text, -1)
	for _, form := range []*regexp.Regexp{labelled, requestID} {
		for _, found := range form.FindAllStringSubmatch(text, -1) {
			ids = append(ids, found[1])
		}
	}
	return ids
}

// calls match the operation of a call as SDKs name it: first in texts of errors, then in code.
var calls = []*regexp.Regexp{
	regexp.MustCompile(`(?i)calling the (\w+) operation|dynamodb: (\w+)|executing "(\w+)"|DynamoDB_20120810\.(\w+)`),
	regexp.MustCompile(`(?i)(?:\b|_)((?:batch_?|transact_?)?(?:get|put|update|delete|write)_?items?)(?:async|command|request|input|error|paginator|operation\w*)?\b`),
	regexp.MustCompile(`\b(Query|Scan)(?:Async|Command|Request|Input|Error|Paginator)?\b|\.(query|scan)\(`),
}

// operationOf returns whether the call in a text reads or writes; "" if that is unknown.
func operationOf(text string) Operation {
	for _, form := range calls {
		name := strings.ToLower(strings.ReplaceAll(findName(form, text), "_", ""))
		switch {
		case strings.Contains(name, "get"), strings.Contains(name, "query"), strings.Contains(name, "scan"):
			return Read
		case strings.Contains(name, "item"):
			return Write
		}
	}
	return ""
}

// limitTexts has the limits that an error's text implies. Other texts may mean provisioned throughput, or a partition.
var limitTexts = []struct {
	text  *regexp.Regexp
	cause Cause
}{
	{regexp.MustCompile(`(?i)exceeds the maximum OnDemandThroughput`), MaxOnDemand},
	{regexp.MustCompile(`(?i)exceeds the current throughput (limit|quota) for your account`), Account},
	{regexp.MustCompile(`(?i)Throughput exceeds the current capacity`), KeyRange},
}

// causeOf returns the limit that a text names; "" if that is unknown.
func causeOf(text string) Cause {
	for _, l := range limitTexts {
		if l.text.MatchString(text) {
			return l.cause
		}
	}
	return ""
}

// tableName and indexName match names as requests and SDKs print them; tableLike and indexLike match a program's own fields.
// ofIndex matches texts about an index.
var (
	tableName = regexp.MustCompile(`(?i)\btable_?name\W{1,8}([\w.-]{3,255})|\bon table \(([\w.-]{3,255})\)`)
	tableLike = regexp.MustCompile(`(?i)\btable\W?[=:]\W{0,3}([\w.-]{3,255})`)
	indexName = regexp.MustCompile(`(?i)\bindex_?name\W{1,8}([\w.-]{3,255})`)
	indexLike = regexp.MustCompile(`(?i)\bindex\W?[=:]\W{0,3}([\w.-]{3,255})`)
	ofIndex   = regexp.MustCompile(`(?i)global secondary ind|of your index\b|under-provisioned global`)
)

// findName returns the groups of a form's first match in a text, or "". At most one group of each form matches.
func findName(form *regexp.Regexp, text string) string {
	match := form.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return strings.Join(match[1:], "")
}

// tableOf returns a text's table, also by a similar name; without a name the explained table, if there is only one.
func (c *collection) tableOf(text string) string {
	if table := findName(tableName, text); table != "" {
		return table
	}
	similar := findName(tableLike, text) // a program may shorten or extend the table's name
	if similar == "" && len(c.options.Tables) == 1 {
		return c.options.Tables[0]
	}
	for _, table := range c.options.Tables {
		if similar != "" && (strings.Contains(table, similar) || strings.Contains(similar, table)) {
			return table
		}
	}
	return similar
}

// resourceOf returns the table or index of a throttle's text. arn is an ARN in the text, or "". isIndex means that the
// throttle is an index's. known is false if the text fits no table or index, or several; id then may have the table. An
// index that the text names by index_name need not exist.
func (c *collection) resourceOf(text, arn string, isIndex bool) (id ID, known bool) {
	if _, path, ok := strings.Cut(arn, ":table/"); ok {
		if id.Table, id.Index, ok = strings.Cut(path, "/index/"); ok {
			return id, true
		}
	} else {
		id.Table = c.tableOf(text)
	}
	exactName := findName(indexName, text)
	name := cmp.Or(exactName, findName(indexLike, text))
	var indexes []string
	for _, r := range c.Resources {
		if r.Table == id.Table && r.Index != "" {
			if r.Index == name {
				return r.ID, true
			}
			indexes = append(indexes, r.Index)
		}
	}
	if exactName != "" && id.Table != "" { // the table lacks the index, or was not described
		id.Index = exactName
		return id, true
	}
	if !isIndex && !ofIndex.MatchString(text) {
		return id, id.Table != ""
	}
	if len(indexes) == 1 {
		id.Index = indexes[0]
	}
	return id, id.Index != ""
}

// keyForm matches an attribute with its value as a group: {"customer": {"S": "acme"}}, customer: 'acme', S("acme").
func keyForm(attribute string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w])` + regexp.QuoteMeta(attribute) + `["'\\]*\s*(?:=>|[:=])\s*(?:&?[\w.:]*[{(]\s*)?(?:["'\\]*(?:[SN]|[sn]|[Vv]alue)["'\\]*\s*(?:=>|[:=])\s*)?` +
		`(?:["'\\]+([^"'\\]+)["'\\]|([^\s,"'{}()\[\]\\*&<>]+))`)
}

// keyOf returns the value of a table's or index's partition key in a throttle's text, or "" if the text has none.
func (c *collection) keyOf(text string, id ID) string {
	for _, r := range c.Resources {
		if r.ID != id || r.PartitionKey == "" {
			continue
		}
		key := findName(keyForm(r.PartitionKey), text)
		if strings.HasPrefix(key, "0xc0") || strings.HasPrefix(key, ":") { // a pointer of Go, or a placeholder
			return ""
		}
		return key
	}
	return ""
}
