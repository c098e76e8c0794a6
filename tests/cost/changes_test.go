package cost

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/system"
)

// freeze freezes an account.
func (b *limitedBank) freeze(id string) ledger.Account {
	b.t.Helper()
	state := events.StateFrozen
	account, err := b.warm.ChangeAccount(b.t.Context(), ledger.ChangeAccount{ID: id, State: &state, Actor: "tester"})
	if err != nil {
		b.t.Fatal(err)
	}
	return account
}

// Freezing an account reads and writes the account's state and guards, but no other account, and no history.
func TestFreezeWritesNothingElse(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	pk := "ACCOUNT#" + holder + " "
	const number = "CHANGE#000000000002"
	before := b.Contents()
	c := b.measure(func() {
		if account := b.freeze(holder); account.State != events.StateFrozen || account.Version != 2 {
			t.Errorf("the account is %+v", account)
		}
	})
	update := " by SET Change = 2 if V = 1 AND attribute_not_exists(Change) OR V = 1 AND Change < 2"
	want := []string{
		"BatchGetItem strong " + pk + "ACCOUNT#" + holder + ", " + pk + "ACCOUNT_CURRENT",
		"TransactWriteItems put " + pk + number + ifAbsent + ", put " + pk + "ACCOUNT_CURRENT" + ifAbsent,
		"Query strong 0 of PK = ACCOUNT#" + holder + " AND SK BETWEEN SPEND# AND SPEND#~",
		"UpdateItem " + pk + "SPEND#" + share + update,
		"UpdateItem " + pk + "SPEND#USD" + update,
	}
	slices.Sort(c.lines)
	slices.Sort(want)
	if !slices.Equal(c.lines, want) {
		t.Errorf("requests: %q, want %q", c.lines, want)
	}
	after := b.Contents()
	maps.DeleteFunc(after, func(k table.Key, _ table.Item) bool {
		return k.PK+" " == pk &&
			slices.Contains([]string{number, "ACCOUNT_CURRENT", "SPEND#USD", "SPEND#" + share}, k.SK)
	})
	for k := range before {
		if after[k] == nil {
			delete(before, k)
		}
	}
	if d := system.Difference(before, after); d != "" {
		t.Errorf("other changes: %s", d)
	}
}

// TestCostOfChangeByGuards measures a change of accounts that spent different numbers of assets. The change is written
// to every guard before it is acknowledged.
func TestCostOfChangeByGuards(t *testing.T) {
	f := figures{heading: "By assets that an account spent", of: "assets"}
	for _, n := range []int{0, 2, 100, 10_000} {
		if n > max(100, *maxAssets) {
			continue
		}
		b := newLimitedBank(t)
		if n == 0 { // an account without a limit has no guards
			f.add("0", []line{b.measure(func() { b.freeze(outside) }).line("freezing the account")})
			continue
		}
		for i := 2; i < n; i++ { // the account has two guards already
			b.guard(events.Pair{Account: holder, Asset: assetName(i)})
		}
		began := time.Now()
		c := b.measure(func() { b.freeze(holder) })
		t.Logf("%d guards were updated in %v", n, time.Since(began))
		f.add(thousands(n), []line{c.line("freezing the account")})
	}
	f.check(t)
}

// guard puts the guard of a pair.
func (b *limitedBank) guard(p events.Pair) {
	b.t.Helper()
	item := table.Begin(table.Spend.Key(p.Account, p.Asset), table.Spend.Type)
	item[table.AttrSpent], item[table.AttrChange] = table.Integer(125_000), table.Integer(1)
	if _, err := b.Client.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: &b.Table, Item: item,
		ConditionExpression: aws.String(table.IfAbsent)}); err != nil {
		b.t.Fatal(err)
	}
}
