package client_test

import (
	"context"
	"fmt"

	"ledger.example/client"
)

// A user with a role in a group has this role on all accounts of the group.
func ExampleClient_UserAccounts() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	must := func(_ client.Written, err error) {
		if err != nil {
			panic(err)
		}
	}
	_, w, err := ledger.RegisterGroup(ctx, client.Group{ID: "desk", Name: "The desk"})
	must(w, err)
	groups, w, err := ledger.PutInGroup(ctx, "desk", "jane")
	must(w, err)
	fmt.Println("jane is in", groups.Groups)
	_, w, err = ledger.Grant(ctx, client.Member{Group: "desk", User: "ann", Role: client.RoleOperator})
	must(w, err)
	fmt.Println("granted", w.New)
	_, w, err = ledger.Grant(ctx, client.Member{Group: "desk", User: "ann", Role: client.RoleOperator})
	must(w, err)
	fmt.Println("granted", w.New)
	member, w, err := ledger.Revoke(ctx, client.Member{Group: "desk", User: "ann"})
	must(w, err)
	fmt.Printf("%s is %q\n", member.User, member.Role)
	_, _, err = ledger.PutInGroup(ctx, "night", "jane")
	fmt.Println(err)
	// Output:
	// jane is in [desk]
	// granted true
	// granted false
	// ann is ""
	// group_not_found: There is no such group.
}
