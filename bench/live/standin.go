package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

const (
	arn     = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-05T13:00:00.000"
	serving = "serving "

	overKey, underKey = "over-", "under-"
)

// offered is what the stand-in has: each stream shard takes so many records a second, evenly.
// Every fourth has a key at 1.05 times the threshold of 700 units a second, every fourth one at
// 0.95 times; all other writes are spread over 5,000 keys each.
type offered struct{ shards, rate, size int }

// of is how many of these keys there are.
func (o offered) of(prefix string) (n int) {
	for shard := range o.shards {
		if strings.HasPrefix(o.key(shard, 0), prefix) {
			n++
		}
	}
	return n
}

// key is whose the nth record of a stream shard is.
func (o offered) key(shard, n int) string {
	at := n % o.rate
	switch {
	case shard%4 == 0 && at < 735:
		return fmt.Sprint(overKey, shard)
	case shard%4 == 1 && at < 665:
		return fmt.Sprint(underKey, shard)
	}
	return fmt.Sprintf("user-%d-%d", shard, n%5000)
}

// Texts of a fixed length, which are replaced by those of a record.
const (
	timeMark     = "1111111111"
	sequenceMark = "222222222222222222222"
)

// cycle is how many records of a stream shard are made in advance, and come again and again.
const cycle = 5000

// serve answers as DynamoDB Streams does, until ctx ends.
func (o offered) serve(ctx context.Context, out io.Writer) error {
	records := make([][][]byte, o.shards)
	for shard := range records {
		for n := range cycle {
			item := fmt.Sprintf(`{"pk":{"S":"%s"},"sk":{"S":"%s"},"data":{"S":"%s"}}`, o.key(shard, n), sequenceMark, strings.Repeat("x", o.size))
			records[shard] = append(records[shard], fmt.Appendf(nil,
				`{"eventID":"1","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":%s,"Keys":{"pk":{"S":"%s"},"sk":{"S":"%s"}},"NewImage":%s,"OldImage":%s,"SequenceNumber":"%s","SizeBytes":%d,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
				timeMark, o.key(shard, n), sequenceMark, item, item, sequenceMark, 2*o.size))
		}
	}
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ ShardId, ShardIterator string }
		_ = json.NewDecoder(r.Body).Decode(&in) // of a client that is known
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		written := int(time.Since(began).Seconds() * float64(o.rate))
		switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
		case "DescribeStream":
			var list []string
			for shard := range o.shards {
				list = append(list, fmt.Sprintf(`{"ShardId":"shard-%d","SequenceNumberRange":{"StartingSequenceNumber":"1"}}`, shard))
			}
			fmt.Fprintf(w, `{"StreamDescription":{"StreamStatus":"ENABLED","Shards":[%s]}}`, strings.Join(list, ","))
		case "GetShardIterator":
			fmt.Fprintf(w, `{"ShardIterator":"%s|%d"}`, in.ShardId, written)
		case "GetRecords":
			shardText, at, _ := strings.Cut(strings.TrimPrefix(in.ShardIterator, "shard-"), "|")
			shard, _ := strconv.Atoi(shardText)
			from, _ := strconv.Atoi(at)
			to := min(written, from+1000)
			body := bytes.NewBuffer(make([]byte, 0, (to-from+1)*(len(records[0][0])+32)))
			body.WriteString(`{"Records":[`)
			for n := from; n < to; n++ {
				if n > from {
					body.WriteByte(',')
				}
				start := body.Len()
				body.Write(records[shard][n%cycle])
				text := body.Bytes()[start:]
				copy(text[bytes.Index(text, []byte(timeMark)):], strconv.FormatInt(began.Unix()+int64(n/o.rate), 10))
				sequence := fmt.Sprintf("%021d", n+1)
				for at := bytes.Index(text, []byte(sequenceMark)); at >= 0; at = bytes.Index(text, []byte(sequenceMark)) {
					copy(text[at:], sequence)
				}
			}
			fmt.Fprintf(body, `],"NextShardIterator":"shard-%d|%d"}`, shard, to)
			_, _ = w.Write(body.Bytes()) // fails if the reader has ended
		}
	}))
	defer server.Close()
	fmt.Fprintln(out, serving+server.URL)
	<-ctx.Done()
	return nil
}
