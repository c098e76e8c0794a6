package tests

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/wire"
)

// aKSUID matches the KSUID at the end of a key.
var aKSUID = regexp.MustCompile(`#[0-9A-Za-z]{27}( |,|$)`)

// line tells a request in one line, with the names and the values in its expressions, and without KSUIDs:
//
//	GetItem strong ACCOUNT#jane BALANCE#USD
//	Query GSI1 eventual newest first, 11 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND PROFILE
//	TransactWriteItems put TXN#t-1 TXN#t-1 if attribute_not_exists(PK), …
//
// The keys of one request come in the order of their text, but for those of writes.
func (r request) line() string {
	text := r.operation
	switch in := r.input.(type) {
	case *dynamodb.GetItemInput:
		text += consistency(in.ConsistentRead) + key(in.Key)
	case *dynamodb.BatchGetItemInput:
		for _, asked := range in.RequestItems {
			text += consistency(asked.ConsistentRead) + keys(asked.Keys)
		}
	case *dynamodb.TransactGetItemsInput:
		var all []wire.Item
		for _, get := range in.TransactItems {
			all = append(all, get.Get.Key)
		}
		text += keys(all)
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
		text += key(in.Item) + condition(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	case *dynamodb.TransactWriteItemsInput:
		var actions []string
		for _, action := range in.TransactItems {
			actions = append(actions, actionLine(action))
		}
		text += strings.Join(actions, ",")
	}
	return aKSUID.ReplaceAllString(text, "#ksuid$1")
}

func actionLine(a types.TransactWriteItem) string {
	switch {
	case a.Put != nil:
		return " put" + key(a.Put.Item) + condition(a.Put.ConditionExpression, a.Put.ExpressionAttributeNames, a.Put.ExpressionAttributeValues)
	case a.Update != nil:
		u := a.Update
		return " update" + key(u.Key) + " by " + expression(u.UpdateExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues) +
			condition(u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues)
	case a.Delete != nil:
		return " delete" + key(a.Delete.Key)
	}
	return " check" + key(a.ConditionCheck.Key)
}

func consistency(strong *bool) string {
	if strong != nil && *strong {
		return " strong"
	}
	return " eventual"
}

func key(item wire.Item) string {
	k, err := wire.KeyOf(item)
	if err != nil {
		return " " + err.Error()
	}
	return " " + k.PK + " " + k.SK
}

func keys(items []wire.Item) string {
	var all []string
	for _, item := range items {
		all = append(all, key(item))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func condition(text *string, names map[string]string, values wire.Item) string {
	if text == nil {
		return ""
	}
	return " if " + expression(text, names, values)
}

// expression writes names and values into an expression, longer placeholders first.
func expression(text *string, names map[string]string, values wire.Item) string {
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
	for _, name := range slices.SortedFunc(maps.Keys(meaning), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, name, meaning[name])
	}
	return strings.NewReplacer(pairs...).Replace(aws.ToString(text))
}

// lines tells each request by its line, in order.
func lines(requests []request) []string {
	all := make([]string, len(requests))
	for i, r := range requests {
		all[i] = r.line()
	}
	return all
}

// sent fails t unless the requests were these, in any order: those of one call may go side by side.
func sent(t testing.TB, requests []request, wanted ...string) {
	t.Helper()
	got := lines(requests)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("the table was asked for\n\t%s\nwanted\n\t%s", strings.Join(got, "\n\t"), strings.Join(wanted, "\n\t"))
	}
}

// found is what a request found: items of a query or a batch, or the one item.
func (r request) found() []wire.Item {
	switch out := r.output.(type) {
	case *dynamodb.QueryOutput:
		return out.Items
	case *dynamodb.GetItemOutput:
		if len(out.Item) > 0 {
			return []wire.Item{out.Item}
		}
	case *dynamodb.BatchGetItemOutput:
		for _, items := range out.Responses {
			return items
		}
	}
	return nil
}

// promptAnswer is far below the age at which a command makes sure of its own postings, which takes requests of its own.
const promptAnswer = 2 * time.Second

// promptly calls post, which posts one transaction of its own, until it was answered promptly, and returns the
// requests of that call. On a machine that is busy with other things, an answer may take seconds.
func promptly(t testing.TB, post func(try int) []request) []request {
	t.Helper()
	for try := range 10 {
		began := time.Now()
		requests := post(try)
		if took := time.Since(began); took < promptAnswer {
			return requests
		}
	}
	t.Fatal("no transaction was answered within ", promptAnswer)
	return nil
}

// shows fails t unless the reply has these values at these paths, whose steps are parted by spaces.
func shows(t testing.TB, r caller.Reply, wanted map[string]any) {
	t.Helper()
	for path, want := range wanted {
		var steps []any
		for step := range strings.FieldsSeq(path) {
			var position int
			if _, err := fmt.Sscanf(step, "%d", &position); err == nil {
				steps = append(steps, position)
			} else {
				steps = append(steps, step)
			}
		}
		if got := r.Value(steps...); got != want {
			t.Errorf("%s is %v, not %v: %s", path, got, want, r.Body)
		}
	}
}
