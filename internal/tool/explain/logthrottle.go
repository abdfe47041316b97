package explain

import (
	"cmp"
	"regexp"
	"strings"
)

// AWS's request ids, which are the same wherever a throttle is logged: 52 letters and digits; engines have others, which
// are known by what SDKs print before or after them.
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

// calls match the operation of a call as SDKs name it: what they print of an error first, then names in code.
var calls = []*regexp.Regexp{
	regexp.MustCompile(`(?i)calling the (\w+) operation|dynamodb: (\w+)|executing "(\w+)"|DynamoDB_20120810\.(\w+)`),
	regexp.MustCompile(`(?i)(?:\b|_)((?:batch_?|transact_?)?(?:get|put|update|delete|write)_?items?)(?:async|command|request|input|error|paginator|operation\w*)?\b`),
	regexp.MustCompile(`\b(Query|Scan)(?:Async|Command|Request|Input|Error|Paginator)?\b|\.(query|scan)\(`),
}

// operationOf returns what the call in a text does, or "" if that is unknown.
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

// limitTexts are the texts of limits that have a text of their own. Others are of provisioned throughput, or of one
// partition of it.
var limitTexts = []struct {
	text  *regexp.Regexp
	cause Cause
}{
	{regexp.MustCompile(`(?i)exceeds the maximum OnDemandThroughput`), MaxOnDemand},
	{regexp.MustCompile(`(?i)exceeds the current throughput (limit|quota) for your account`), Account},
	{regexp.MustCompile(`(?i)Throughput exceeds the current capacity`), KeyRange},
}

func causeOf(text string) Cause {
	for _, l := range limitTexts {
		if l.text.MatchString(text) {
			return l.cause
		}
	}
	return ""
}

// The names of tables and indexes as requests and SDKs print them, and the texts of indexes.
var (
	tableName = regexp.MustCompile(`(?i)\btable_?name\W{1,8}([\w.-]{3,255})|\bon table \(([\w.-]{3,255})\)`)
	tableLike = regexp.MustCompile(`(?i)\btable\W?[=:]\W{0,3}([\w.-]{3,255})`) // a program's own name of it
	indexName = regexp.MustCompile(`(?i)\bindex_?name\W{1,8}([\w.-]{3,255})`)
	indexLike = regexp.MustCompile(`(?i)\bindex\W?[=:]\W{0,3}([\w.-]{3,255})`)
	ofIndex   = regexp.MustCompile(`(?i)global secondary ind|of your index\b|under-provisioned global`)
)

// findName returns the name that a form finds in a text, or "".
func findName(form *regexp.Regexp, text string) string {
	groups := form.FindStringSubmatch(text)
	return strings.Join(groups[min(1, len(groups)):], "") // the first is the whole match
}

// tableOf returns the table that a text names, or else the explained table if there is only one.
func (c *collection) tableOf(text string) string {
	if table := findName(tableName, text); table != "" {
		return table
	}
	like := findName(tableLike, text)
	for _, table := range c.options.Tables {
		if like != "" && (strings.Contains(table, like) || strings.Contains(like, table)) {
			return table
		}
	}
	if like == "" && len(c.options.Tables) == 1 {
		return c.options.Tables[0]
	}
	return like
}

// resourceOf returns the table or index of a throttle's text. index means that the throttle is of an index. known is false
// if the text fits several tables or indexes.
func (c *collection) resourceOf(text, arn string, index bool) (id ID, known bool) {
	if _, path, ok := strings.Cut(arn, ":table/"); ok {
		if id.Table, id.Index, ok = strings.Cut(path, "/index/"); ok {
			return id, true
		}
	} else {
		id.Table = c.tableOf(text)
	}
	sure := findName(indexName, text)
	named := cmp.Or(sure, findName(indexLike, text))
	var indexes []string
	for _, r := range c.Resources {
		if r.Table == id.Table && r.Index != "" {
			if r.Index == named {
				return r.ID, true
			}
			indexes = append(indexes, r.Index)
		}
	}
	if sure != "" && id.Table != "" { // the table lacks it, or was not described
		id.Index = sure
		return id, true
	}
	if !index && !ofIndex.MatchString(text) {
		return id, id.Table != ""
	}
	if len(indexes) == 1 {
		id.Index = indexes[0]
	}
	return id, id.Index != ""
}

// keyForm matches an attribute with a key's value: {"customer": {"S": "acme"}}, customer: 'acme', S("acme").
func keyForm(attribute string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w])` + regexp.QuoteMeta(attribute) + `["'\\]*\s*(?:=>|[:=])\s*(?:&?[\w.:]*[{(]\s*)?(?:["'\\]*(?:[SN]|[sn]|[Vv]alue)["'\\]*\s*(?:=>|[:=])\s*)?` +
		`(?:["'\\]+([^"'\\]+)["'\\]|([^\s,"'{}()\[\]\\*&<>]+))`)
}

// keyOf returns the partition key in a throttle's text, or "" if the text has none.
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
