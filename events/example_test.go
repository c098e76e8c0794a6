package events_test

import (
	"fmt"
	"time"

	"ledger.example/events"
)

func ExampleAmount() {
	price, _ := events.ParseAmount("150000", events.PostedDigits)
	sum, _ := price.Add(events.NewAmount(-500000))
	fmt.Println(sum, sum.Sign())
	_, err := events.ParseAmount("1e3", events.PostedDigits)
	fmt.Println(err)
	_, err = events.MaxFolded().Add(events.NewAmount(1))
	fmt.Println(err)
	// Output:
	// -350000 -1
	// not a whole number in canonical form
	// amount has too many digits
}

func ExampleFirstKSUID() {
	clock := func() time.Time { return time.Date(2026, 11, 21, 9, 6, 39, 123456789, time.UTC) }
	ids, at, _ := events.NewMinter(clock, nil).Mint(2)
	fmt.Println(events.FormatTime(at), ids[0] < ids[1])
	fmt.Println(events.FirstKSUID(at), events.FirstKSUID(at) <= ids[0])
	// Output:
	// 2026-11-21T09:06:39.123456Z true
	// 3MPV4ayv11oSSJYzQstbglgzGzY true
}

func ExampleDecode() {
	granted := events.MemberGranted{Account: "jane", User: "u-17", Role: events.RoleViewer, Number: 1, Actor: "local", At: time.Unix(1800000000, 0)}
	stored := events.Encode(granted)
	fmt.Println(stored["Role"], stored["Number"], stored["At"])

	stored["Role"] = "admin"
	_, err := events.Decode("MemberGranted", 1, stored)
	fmt.Println(err)
	_, err = events.Decode("MemberGranted", 2, stored)
	fmt.Println(err)
	// Output:
	// viewer 1 2027-01-15T08:00:00.000000Z
	// malformed event: MemberGranted: Role has an unknown value
	// unknown event: "MemberGranted", version 2
}
