package events_test

import (
	"fmt"
	"time"

	"ledger.example/events"
)

func ExampleDecode() {
	granted := events.MemberGranted{Account: "jane", User: "u-17", Role: events.RoleViewer, Number: 1, Actor: "local", At: time.Unix(1800000000, 0)}
	checksum := events.Checksum(granted)
	stored := events.Fields{
		{Name: "Account", Type: events.TextField, Text: "jane"},
		{Name: "Actor", Type: events.TextField, Text: "local"},
		{Name: "At", Type: events.TextField, Text: "2027-01-15T08:00:00.000000Z"},
		{Name: "Number", Type: events.NumberField, Text: "1"},
		{Name: "Role", Type: events.TextField, Text: "viewer"},
		{Name: "User", Type: events.TextField, Text: "u-17"},
	}
	e, err := events.Decode("MemberGranted", events.Form, checksum, stored)
	fmt.Println(e.(events.MemberGranted).Role, err)

	stored[4].Text = "owner"
	_, err = events.Decode("MemberGranted", events.Form, checksum, stored)
	fmt.Println(err)
	stored[4].Text = "admin"
	_, err = events.Decode("MemberGranted", events.Form, checksum, stored)
	fmt.Println(err)
	_, err = events.Decode("MemberGranted", 2, checksum, stored)
	fmt.Println(err)
	// Output:
	// viewer <nil>
	// malformed event: checksum does not match: MemberGranted
	// malformed event: MemberGranted: Role has an unknown value
	// unknown event: version is newer than this code: "MemberGranted", version 2
}

// A transaction's header carries all its legs. Each is also stored as a posting in its account's partition.
func ExampleTransactionPosted_Postings() {
	t := events.TransactionPosted{ID: "order-1", Kind: events.KindTransfer, Legs: []events.Leg{
		{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(-2500)},
		{ID: "3MPlq7CblaK144v8BdRNue7pibt", Account: "shop", Asset: "USD", Quantity: events.NewAmount(2500)},
	}}
	for _, p := range t.Postings() {
		fmt.Println(p.Transaction, p.Account, p.Asset, p.Quantity, events.FormatTime(p.ID.Time()))
	}
	// Output:
	// order-1 jane USD -2500 2026-11-21T11:24:31.097334Z
	// order-1 shop USD 2500 2026-11-21T11:24:31.097334Z
}
