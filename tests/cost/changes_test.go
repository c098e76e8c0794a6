package cost

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/system"
)

// freeze freezes an account, and returns what it is now.
func (l *lives) freeze(id string) ledger.Account {
	l.t.Helper()
	state := events.StateFrozen
	account, err := l.warm.ChangeAccount(l.t.Context(), ledger.ChangeAccount{ID: id, State: &state, Actor: "tester"})
	if err != nil {
		l.t.Fatal(err)
	}
	return account
}

// One element changes alone: freezing an account reads and writes that account's state and guards, and nothing that
// belongs to another account or to its history.
func TestOneElementChangesAlone(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	pk := "ACCOUNT#" + holder + " "
	const number = "CHANGE#000000000002"
	before := l.Contents()
	c := l.take(func() {
		if account := l.freeze(holder); account.State != events.StateFrozen || account.Version != 2 {
			t.Errorf("the account is %+v", account)
		}
	})
	told := " by SET Change = 2 if attribute_exists(Spent) AND attribute_not_exists(Change) OR Change < 2"
	want := []string{
		"BatchGetItem strong " + pk + "ACCOUNT#" + holder + ", " + pk + "ACCOUNT_CURRENT",
		"TransactWriteItems put " + pk + number + ifAbsent + ", put " + pk + "ACCOUNT_CURRENT" + ifAbsent,
		"Query strong 0 of PK = ACCOUNT#" + holder + " AND SK BETWEEN SPEND# AND SPEND#~",
		"UpdateItem " + pk + "SPEND#" + share + told,
		"UpdateItem " + pk + "SPEND#USD" + told,
	}
	slices.Sort(c.lines)
	slices.Sort(want)
	if !slices.Equal(c.lines, want) {
		t.Errorf("asked for %q, want %q", c.lines, want)
	}
	after := l.Contents()
	maps.DeleteFunc(after, func(k table.Key, _ ddb.Item) bool {
		return k.PK+" " == pk && slices.Contains([]string{number, "ACCOUNT_CURRENT", "SPEND#USD", "SPEND#" + share}, k.SK)
	})
	for k := range before {
		if after[k] == nil {
			delete(before, k)
		}
	}
	if d := system.Difference(before, after); d != "" {
		t.Errorf("changed, too: %s", d)
	}
}

// TestByGuards measures a change of an account by the assets that it ever spent: every guard is told of it before it is
// acknowledged.
func TestByGuards(t *testing.T) {
	f := figures{heading: "By assets that an account spent", of: "assets"}
	for _, n := range []int{0, 2, 100, 10_000} {
		if n > max(100, *assetsMost) {
			continue
		}
		l := newLives(t)
		if n == 0 { // an account without a limit has no guards
			f.add("0", []line{l.take(func() { l.freeze(outside) }).wants(t, "freezing the account", 1, 1, 4)})
			continue
		}
		for i := 2; i < n; i++ { // it spent two already
			l.guard(events.Pair{Account: holder, Asset: assetName(i)})
		}
		began := time.Now()
		c := l.take(func() { l.freeze(holder) })
		t.Logf("%d guards were told in %v", n, time.Since(began))
		f.add(thousands(n), []line{c.wants(t, "freezing the account", 2, 1+n, int64(4+n))})
	}
	f.check(t)
}

// guard puts the guard of a pair that spent something.
func (l *lives) guard(p events.Pair) {
	l.t.Helper()
	item := ddb.Key(table.SpendKey(p.Account, p.Asset))
	item[table.AttrType], item[table.AttrSpent] = ddb.String(table.KindSpend), ddb.Integer(125_000)
	item[table.AttrChange] = ddb.Integer(1)
	if _, err := l.Client.PutItem(l.t.Context(), &dynamodb.PutItemInput{TableName: &l.Table, Item: item,
		ConditionExpression: aws.String(ddb.IfAbsent)}); err != nil {
		l.t.Fatal(err)
	}
}
