package table_test

import (
	"fmt"

	"ledger.example/internal/table"
)

// The stored keys of some kinds of items: events, a guard, projections.
func Example() {
	const ksuid = "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"
	for _, k := range []table.Key{
		table.Asset.Key("AAPL"), table.Posting.Key("jane", "AAPL", ksuid), table.Outcome.Key("order-1001"),
		table.Grant.Key("jane", "u-17", 7), table.Spend.Key("jane", "USD"), table.Summary.Key("jane"),
		table.Balance.Key("jane", "AAPL"), table.Segment.Key("jane", "AAPL", ksuid), table.Membership.Key("jane", "u-17"),
		table.OpenHold.Key("2027-02-21T09:06:39.123456Z", "order-1001"),
		table.Listed.Key("0", ksuid, "order-1001"),
		table.ListedMetadata.Key("0", "order", "1001", ksuid, "order-1001"), table.Journal.Key("0", ksuid),
	} {
		fmt.Println(k.PK, k.SK)
	}
	user, grant := "", int64(0)
	_, user, grant, ok := table.Grant.Parse(table.Key{PK: "ACCOUNT#jane", SK: "GRANT#u-17#000000000007"})
	fmt.Println(user, grant, ok)
	fmt.Println(table.Asset.PK2(), table.Balance.PK2("AAPL"), table.Account.SK2(), table.Posting.SK2(ksuid))
	fmt.Println(table.Posting.All("AAPL").After(ksuid))
	// Output:
	// ASSET#AAPL ASSET#AAPL
	// ACCOUNT#jane POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// TXN#order-1001 OUTCOME
	// ACCOUNT#jane GRANT#u-17#000000000007
	// ACCOUNT#jane SPEND#USD
	// ACCOUNT#jane ACCOUNT_SUMMARY
	// ACCOUNT#jane BALANCE#AAPL
	// ACCOUNT#jane SEGMENT#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// ACCOUNT#jane MEMBER#u-17
	// HOLD#2027-02-21T09:06:39.123456Z#order-1001 OPEN_HOLD
	// TRANSACTIONS#0 LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001
	// METADATA#0#order#1001 LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001
	// JOURNAL#0 ENTRIES#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// u-17 7 true
	// ASSETS ASSET#AAPL PROFILE POSTING#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// {POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA! POSTING#AAPL#~}
}
