package store_test

import (
	"fmt"

	"ledger.example/internal/store"
)

// The stored keys of some kinds of items: events, a guard, projections.
func Example() {
	const ksuid = "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"
	for _, k := range []store.Key{
		store.Asset.Key("AAPL"), store.Posting.Key("jane", "AAPL", ksuid), store.Outcome.Key("order-1001"),
		store.Grant.Key("jane", "u-17", 7), store.Spend.Key("jane", "USD"), store.Summary.Key("jane"),
		store.Balance.Key("jane", "AAPL"), store.Segment.Key("jane", "AAPL", ksuid), store.Membership.Key("jane", "u-17"),
		store.OpenHold.Key("2027-02-21T09:06:39.123456Z", "order-1001"), store.Listed.Key(ksuid, "order-1001"),
		store.ListedMetadata.Key("order", "1001", ksuid, "order-1001"), store.Journal.Key(ksuid),
	} {
		fmt.Println(k.PK, k.SK)
	}
	user, grant := "", int64(0)
	_, user, grant, ok := store.Grant.Parse(store.Key{PK: "ACCOUNT#jane", SK: "GRANT#u-17#000000000007"})
	fmt.Println(user, grant, ok)
	fmt.Println(store.Asset.PK2(), store.Balance.PK2("AAPL"), store.Account.SK2(), store.Posting.SK2(ksuid))
	fmt.Println(store.Posting.All("AAPL").After(ksuid))
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
	// METADATA#order#1001 LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001
	// JOURNAL ENTRIES#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// u-17 7 true
	// ASSETS ASSET#AAPL PROFILE POSTING#2h3vKAaVzJZ8mP0eMqk1kT9xYzA
	// {POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA! POSTING#AAPL#~}
}
