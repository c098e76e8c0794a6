package table_test

import (
	"fmt"

	"ledger.example/internal/table"
)

// The stored keys of all kinds of items: events, the guard, projections.
func Example() {
	const ksuid = "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"
	for _, k := range []table.Key{
		table.AssetKey("AAPL"), table.AccountKey("jane"), table.TransactionKey("order-1001"),
		table.PostingKey("jane", "AAPL", ksuid), table.GrantKey("jane", "u-17", 7), table.SpendKey("jane", "USD"),
		table.BalanceKey("jane", "AAPL"), table.SegmentKey("jane", "AAPL", ksuid), table.SummaryKey("jane"),
		table.MembershipKey("jane", "u-17"), table.ListedKey(ksuid, "order-1001"),
		{PK: table.MetadataPK("order", "1001"), SK: table.ListedSK(ksuid, "order-1001")}, table.JournalKey(ksuid),
	} {
		fmt.Println(k.PK, k.SK)
	}
	fmt.Println(table.AssetsPK2, table.AccountsPK2, table.HoldersPK2("AAPL"), table.UserPK2("u-17"))
	fmt.Println(table.ProfileSK2, table.PostingSK2(ksuid))
	// Output:
	// ASSET#AAPL ASSET#AAPL
	// ACCOUNT#jane ACCOUNT#jane
	// TXN#order-1001 TXN#order-1001
	// ACCOUNT#jane POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// ACCOUNT#jane GRANT#u-17#000000000007
	// ACCOUNT#jane SPEND#USD
	// ACCOUNT#jane BALANCE#AAPL
	// ACCOUNT#jane SEGMENT#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// ACCOUNT#jane ACCOUNT_SUMMARY
	// ACCOUNT#jane MEMBER#u-17
	// TRANSACTIONS#0 LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001
	// METADATA#order#1001 LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001
	// JOURNAL ENTRIES#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// ASSETS ACCOUNTS ASSET#AAPL USER#u-17
	// PROFILE POSTING#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
}
