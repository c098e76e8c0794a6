package table_test

import (
	"fmt"

	"ledger.example/ledger/table"
)

const ksuid = "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"

func show(k table.Key) { fmt.Println(k.PK, k.SK) }

func ExampleAssetKey() {
	show(table.AssetKey("AAPL"))
	fmt.Println(table.AssetsPK2)
	// Output:
	// ASSET#AAPL ASSET#AAPL
	// ASSETS
}

func ExampleAccountKey() {
	show(table.AccountKey("jane"))
	fmt.Println(table.ProfileSK2, table.AccountsPK2)
	// Output:
	// ACCOUNT#jane ACCOUNT#jane
	// PROFILE ACCOUNTS
}

func ExampleTransactionKey() {
	show(table.TransactionKey("order-1001"))
	// Output: TXN#order-1001 TXN#order-1001
}

func ExamplePostingKey() {
	show(table.PostingKey("jane", "AAPL", ksuid))
	fmt.Println(table.PostingSK2(ksuid))
	// Output:
	// ACCOUNT#jane POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// POSTING#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
}

func ExampleGrantKey() {
	show(table.GrantKey("jane", "u-17", 7))
	// Output: ACCOUNT#jane GRANT#u-17#000000000007
}

func ExampleSpendKey() {
	show(table.SpendKey("jane", "USD"))
	// Output: ACCOUNT#jane SPEND#USD
}

func ExampleBalanceKey() {
	show(table.BalanceKey("jane", "AAPL"))
	fmt.Println(table.HoldersPK2("AAPL"))
	// Output:
	// ACCOUNT#jane BALANCE#AAPL
	// ASSET#AAPL
}

func ExampleSegmentKey() {
	show(table.SegmentKey("jane", "AAPL", ksuid))
	// Output: ACCOUNT#jane SEGMENT#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
}

func ExampleSummaryKey() {
	show(table.SummaryKey("jane"))
	// Output: ACCOUNT#jane ACCOUNT_SUMMARY
}

func ExampleMembershipKey() {
	show(table.MembershipKey("jane", "u-17"))
	fmt.Println(table.UserPK2("u-17"))
	// Output:
	// ACCOUNT#jane MEMBER#u-17
	// USER#u-17
}
