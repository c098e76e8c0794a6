package redrive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	early = "3MQ8zjyGFVzhhr1u4f98Pdyw6sq"
	later = "3MQ8zjyGFVzhhr1u4f98Pdyw6sr"
)

// streamRecord is a stream record as Lambda passes it to a function.
func streamRecord(k table.Key) string {
	return fmt.Sprintf(`{"eventID":"c4ca","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"us-east-1",
"dynamodb":{"ApproximateCreationDateTime":1763716000,"Keys":{%q:{"S":%q},%q:{"S":%q}},
"NewImage":{"Quantity":{"N":"1"},"New":{"DECIMAL128":"1"}},"SequenceNumber":"800000000003126276362","SizeBytes":26,"StreamViewType":"NEW_IMAGE"},
"eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/ledger/stream/2026-11-21T00:00:00.000"}`,
		table.AttrPK, k.PK, table.AttrSK, k.SK)
}

func eventOf(keys ...table.Key) string {
	var records []string
	for _, k := range keys {
		records = append(records, streamRecord(k))
	}
	return `{"Records":[` + strings.Join(records, ",") + `]}`
}

// objectOf is a dead letter that Lambda puts into a bucket, on one line. payload is JSON. Without a payload it is a
// message to a queue.
func objectOf(payload string) string {
	if payload != "" {
		payload = `,"payload":` + payload
	}
	return `{"requestContext":{"requestId":"316aa6d0-8154-4c0a-9af7-85d5f4a6bc81","functionArn":"arn:aws:lambda:us-east-1:123456789012:function:projector",` +
		`"condition":"RetryAttemptsExhausted","approximateInvokeCount":1001},` +
		`"responseContext":{"statusCode":200,"executedVersion":"7","functionError":"Unhandled"},"version":"1.0","timestamp":"2026-11-21T09:26:39.717Z",` +
		`"DDBStreamBatchInfo":{"shardId":"shardId-00000001573689847184-864758bb","startSequenceNumber":"800000000003126276362",` +
		`"endSequenceNumber":"800000000003126276362","approximateArrivalOfFirstRecord":"2026-11-21T09:13:19Z",` +
		`"approximateArrivalOfLastRecord":"2026-11-21T09:13:19Z","batchSize":1,` +
		`"streamArn":"arn:aws:dynamodb:us-east-1:123456789012:table/ledger/stream/2026-11-21T00:00:00.000"}` +
		payload + `}`
}

func object(keys ...table.Key) string { return objectOf(textOf(eventOf(keys...))) }

func textOf(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// read returns the SK or the error of each record in a file, with its place in the file "f".
func read(r io.Reader) (found []string) {
	for r, err := range records(r, "f") {
		text := r.key.SK
		if err != nil {
			text, _, _ = strings.Cut(err.Error(), ":")
		}
		found = append(found, r.place.String()+": "+text)
	}
	return found
}

func TestRecordsAreRead(t *testing.T) {
	usd, eur := table.Posting.Key("jane", "USD", early), table.Posting.Key("jane", "EUR", later)
	grant := table.Grant.Key("jane", "u-17", 7)
	malformed := table.Key{PK: usd.PK, SK: usd.SK + "x"}
	var indented strings.Builder
	{
		var o any
		if err := json.Unmarshal([]byte(object(usd)), &o); err != nil {
			t.Fatal(err)
		}
		e := json.NewEncoder(&indented)
		e.SetIndent("", "  ")
		if err := e.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Count(indented.String(), "\n")
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \n\n", nil},
		{"an object of the bucket", object(usd, grant),
			[]string{"f:1, record 1: " + usd.SK, "f:1, record 2: " + grant.SK}},
		{"over many lines", indented.String(), []string{"f:1, record 1: " + usd.SK}},
		{"two of them", indented.String() + indented.String(),
			[]string{"f:1, record 1: " + usd.SK, fmt.Sprintf("f:%d, record 1: %s", 1+lines, usd.SK)}},
		{"objects put behind one another", object(usd) + object(eur),
			[]string{"f:1, record 1: " + usd.SK, "f:1, record 1: " + eur.SK}},
		{"payload that is not text", objectOf(eventOf(usd)), []string{"f:1, record 1: " + usd.SK}},
		{"an event", eventOf(usd), []string{"f:1, record 1: " + usd.SK}},
		{"lines of the pump", "\n" + object(usd) + "\n\n" + object(eur) + "\n",
			[]string{"f:2, record 1: " + usd.SK, "f:4, record 1: " + eur.SK}},
		{"a line cut off before the last", object(usd) + "\n" + object(eur)[:700] + "\n" + object(grant) + "\n",
			[]string{"f:1, record 1: " + usd.SK, "f:2: it is truncated", "f:3, record 1: " + grant.SK}},
		{"the last line cut off", object(usd) + "\n" + object(eur)[:40],
			[]string{"f:1, record 1: " + usd.SK, "f:2: it is truncated"}},
		{"a line that lost its beginning", object(usd) + "\n" + object(eur)[700:] + "\n" + object(grant),
			[]string{"f:1, record 1: " + usd.SK, "f:1: " + ErrNotDeadLetter.Error(), "f:3, record 1: " + grant.SK}},
		{"as queues get it", objectOf("") + "\n" + objectOf("null"),
			[]string{"f:1: it has only a position in the stream and no records, like messages in queues and topics",
				"f:2: it has only a position in the stream and no records, like messages in queues and topics"}},
		{"a malformed key", object(malformed, usd),
			[]string{"f:1, record 1: " + ErrMalformedKey.Error(), "f:1, record 2: " + usd.SK}},
		{"a malformed account", eventOf(table.Posting.Key("a b", "USD", early)),
			[]string{"f:1, record 1: " + ErrMalformedKey.Error()}},
		{"another table's key", `{"Records":[{"dynamodb":{"Keys":{"Id":{"N":"101"}}}},{"dynamodb":{}},{},7]}`,
			[]string{"f:1, record 1: the record has no key",
				"f:1, record 2: the record has no key", "f:1, record 3: the record has no key",
				"f:1, record 4: the record has no key"}},
		{"not ours",
			"hello\n[1]\n{}\n" + `{"payload":{}}` + "\n" + `{"payload":"x"}` + "\n" + `{"payload":7,"Records":[]}` +
				"\n" + `{"Records":{}}` + "\n{]\n" + eventOf(usd), []string{
				"f:1: " + ErrNotDeadLetter.Error(), "f:3: " + ErrNotDeadLetter.Error(),
				"f:4: " + ErrNotDeadLetter.Error(), "f:5: " + ErrNotDeadLetter.Error(),
				"f:6: " + ErrNotDeadLetter.Error(), "f:7: " + ErrNotDeadLetter.Error(),
				"f:8: " + ErrNotDeadLetter.Error(), "f:9, record 1: " + usd.SK}},
		{"a list", "[{}]", []string{"f:1: " + ErrNotDeadLetter.Error()}},
		{"an event of nothing", `{"Records":[]}`, nil},
	} {
		// Also byte by byte: the result must not depend on the ends of the read buffer.
		for i, r := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
			if got := read(r); !slices.Equal(got, c.want) {
				t.Errorf("%s (%d): read\n%s\nwant\n%s", c.name, i, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
}

// What cannot be read to its end is reported, after the records before it.
func TestUnreadableFiles(t *testing.T) {
	usd := table.Posting.Key("jane", "USD", early)
	for _, c := range []struct {
		rest io.Reader
		want []string
	}{
		{strings.NewReader(`{"x":"` + strings.Repeat("y", maxDocument) + `"}`),
			[]string{"f:5: it is longer than 64 MB, and the rest of the file is skipped"}},
		{io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("disk on fire"))),
			[]string{"f:5: it is truncated", "f:5: disk on fire"}},
	} {
		got := read(io.MultiReader(strings.NewReader(eventOf(usd)+"\n"), c.rest))
		if want := append([]string{"f:1, record 1: " + usd.SK}, c.want...); !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
	}
}

// FuzzRecords checks that any file is read to its end, and that a valid line before or after it is read, too.
func FuzzRecords(f *testing.F) {
	usd := table.Posting.Key("jane", "USD", early)
	whole := strings.ReplaceAll(object(usd), "\n", " ")
	f.Add([]byte(whole))
	f.Add([]byte(whole[:300] + "\n" + eventOf(usd)))
	key := fmt.Sprintf(`{"dynamodb":{"Keys":{%q:{"S":%q},%q:{"S":%q}}}}`, table.AttrPK, usd.PK, table.AttrSK, usd.SK)
	f.Add([]byte(`{"Records":[` + key + `]}{"payload":{"Records":[` + key + `,{}]}}`))
	f.Add([]byte(`{"payload":"{\"Records\":[]}"` + "}\n{\"payload\":\"{\n\n{\"DDBStreamBatchInfo\":{}}\n}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines := strings.Count(string(file), "\n") + 1
		last, before := 1, 0
		for r, err := range records(strings.NewReader(string(file)), "f") {
			if r.place.Line < last || r.place.Line > lines || r.place.Record < 0 {
				t.Fatalf("%s comes after line %d of %d", r.place, last, lines)
			}
			last = r.place.Line
			if err == nil {
				before++
				if _, ok := projections.TargetOf(r.key); !ok {
					t.Fatalf("%s: %v", r.place, r.key)
				}
			}
		}
		count := func(file string) (n int) {
			for r, err := range records(strings.NewReader(file), "f") {
				if err == nil && r.key == usd {
					n++
				}
			}
			return n
		}
		n := count(string(file))
		if got := count(string(file) + "\n" + whole); got != n+1 {
			t.Errorf("%d of %d records read with a line behind", got, n+1)
		}
		if got := count(whole + "\n" + string(file)); got < n && len(file) > 0 && file[0] == '{' || got < 1 {
			t.Errorf("%d of %d records read with a line before", got, n+1)
		}
	})
}
