package system

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/table"
)

// Request is one request that was sent to the table.
type Request struct {
	Operation string // TransactWriteItems, Query, …
	Input     any    // the SDK's input, *dynamodb.QueryInput for example
	Output    any    // the SDK's output, nil on an error
}

// Recorder keeps the requests that a client sends to the table. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	requests []Request
}

// record is a client option that adds the recorder to the SDK's middleware.
func (r *Recorder) record(o *dynamodb.Options) {
	table.Observe("record", func(ctx context.Context, in, out any, _ error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, Request{middleware.GetOperationName(ctx), in, out})
	})(o)
}

// Take returns the requests since the last Take, in the order in which they were answered.
func (r *Recorder) Take() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.requests
	r.requests = nil
	return taken
}

// Log is a buffer for a log. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// withoutKSUIDs replaces the KSUID at the end of each key in a text with #ksuid.
func withoutKSUIDs(text string) string { return keyKSUID.ReplaceAllString(text, "#ksuid$1") }

var keyKSUID = regexp.MustCompile(`#[0-9A-Za-z]{27}( |,|$)`)

// Line returns a request as one line. Names and values replace the placeholders in expressions; KSUIDs are left out:
//
//	GetItem strong ACCOUNT#jane BALANCE#USD
//	Query GSI1 eventual newest first, 11 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND PROFILE
//	TransactWriteItems put TXN#t-1 TXN#t-1 if attribute_not_exists(PK), …
//
// The keys of one read are sorted.
func (r Request) Line() string {
	text := r.Operation
	switch in := r.Input.(type) {
	case *dynamodb.GetItemInput:
		text += consistency(in.ConsistentRead) + keyText(in.Key)
	case *dynamodb.BatchGetItemInput:
		for _, asked := range in.RequestItems {
			text += consistency(asked.ConsistentRead) + keyTexts(asked.Keys)
		}
	case *dynamodb.TransactGetItemsInput:
		var all []table.Item
		for _, get := range in.TransactItems {
			all = append(all, get.Get.Key)
		}
		text += keyTexts(all)
	case *dynamodb.QueryInput:
		if in.IndexName != nil {
			text += " " + *in.IndexName
		}
		text += consistency(in.ConsistentRead)
		if in.ScanIndexForward != nil && !*in.ScanIndexForward {
			text += " newest first,"
		}
		text += fmt.Sprintf(" %d of ", aws.ToInt32(in.Limit)) +
			expression(in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if in.FilterExpression != nil {
			text += " filtered by " + *in.FilterExpression
		}
	case *dynamodb.PutItemInput:
		text += keyText(in.Item) + condition(in.ConditionExpression, in.ExpressionAttributeNames,
			in.ExpressionAttributeValues)
	case *dynamodb.UpdateItemInput:
		text += keyText(in.Key) + " by " + expression(in.UpdateExpression, in.ExpressionAttributeNames,
			in.ExpressionAttributeValues) +
			condition(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	case *dynamodb.TransactWriteItemsInput:
		var actions []string
		for _, action := range in.TransactItems {
			actions = append(actions, actionLine(action))
		}
		text += strings.Join(actions, ",")
	}
	return withoutKSUIDs(text)
}

func actionLine(a types.TransactWriteItem) string {
	switch {
	case a.Put != nil:
		return " put" + keyText(a.Put.Item) + condition(a.Put.ConditionExpression, a.Put.ExpressionAttributeNames,
			a.Put.ExpressionAttributeValues)
	case a.Update != nil:
		u := a.Update
		return " update" + keyText(u.Key) + " by " + expression(u.UpdateExpression, u.ExpressionAttributeNames,
			u.ExpressionAttributeValues) +
			condition(u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues)
	case a.Delete != nil:
		return " delete" + keyText(a.Delete.Key)
	}
	c := a.ConditionCheck
	return " check" + keyText(c.Key) + condition(c.ConditionExpression, c.ExpressionAttributeNames,
		c.ExpressionAttributeValues)
}

func consistency(strong *bool) string {
	if aws.ToBool(strong) {
		return " strong"
	}
	return " eventual"
}

// keyText returns an item's key in the form of Line, with a space before it.
func keyText(item table.Item) string {
	k, err := table.KeyOf(item)
	if err != nil {
		return " " + err.Error()
	}
	return " " + k.PK + " " + k.SK
}

func keyTexts(items []table.Item) string {
	var all []string
	for _, item := range items {
		all = append(all, keyText(item))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func condition(text *string, names map[string]string, values table.Item) string {
	if text == nil {
		return ""
	}
	return " if " + expression(text, names, values)
}

// expression replaces the placeholders in an expression, the longer ones first.
func expression(text *string, names map[string]string, values table.Item) string {
	meaning := maps.Clone(names)
	if meaning == nil {
		meaning = make(map[string]string)
	}
	for name, value := range values {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			meaning[name] = v.Value
		case *types.AttributeValueMemberN:
			meaning[name] = v.Value
		}
	}
	var pairs []string
	for _, name := range slices.SortedFunc(maps.Keys(meaning),
		func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, name, meaning[name])
	}
	return strings.NewReplacer(pairs...).Replace(aws.ToString(text))
}

// Lines returns the Line of each request, in order.
func Lines(requests []Request) []string {
	all := make([]string, len(requests))
	for i, r := range requests {
		all[i] = r.Line()
	}
	return all
}

// WantRequests fails t unless the requests have these lines, in any order, because one call can send requests in
// parallel. A wanted line that ends in … matches every line with that prefix.
func WantRequests(t testing.TB, requests []Request, wanted ...string) {
	t.Helper()
	got := Lines(requests)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.EqualFunc(got, wanted, func(got, wanted string) bool {
		beginning, isCut := strings.CutSuffix(wanted, "…")
		return got == wanted || isCut && strings.HasPrefix(got, beginning)
	}) {
		t.Errorf("requests to the table:\n\t%s\nwanted\n\t%s", strings.Join(got, "\n\t"), strings.Join(wanted, "\n\t"))
	}
}

// Writes reports whether the request may change the table.
func (r Request) Writes() bool {
	return !slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "DescribeTable"},
		r.Operation)
}

const (
	// promptAnswer is far below the age at which a command sends further requests to verify its own postings.
	promptAnswer = 2 * time.Second
	promptTries  = 10
)

// Promptly calls post, which posts a new transaction each time, until a call takes less than promptAnswer. It returns
// the requests of that call. On a busy machine, a call may take seconds.
func Promptly(t testing.TB, post func(try int) []Request) []Request {
	t.Helper()
	for try := range promptTries {
		began := time.Now()
		if requests := post(try); time.Since(began) < promptAnswer {
			return requests
		}
	}
	t.Fatal("no transaction was answered within ", promptAnswer)
	return nil
}
