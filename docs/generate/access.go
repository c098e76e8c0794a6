package main

import (
	"cmp"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/api"
)

// accessTable shows the role that each route requires, from the table that the API checks.
func accessTable() markdown {
	t := markdown{head: "route|role that a user needs|on|note"}
	for _, o := range api.Operations() {
		role, on := cmp.Or(o.May.Role, "none"), strings.Trim(string(o.May.On), "()")
		switch o.May.On {
		case "":
			continue // public
		case client.OnNothing:
			on = ""
		case client.OnLedger:
			role, on = "not for users", ""
		}
		t.add("`"+o.Method+" "+o.Path+"`", role, on, o.May.Note)
	}
	return t
}
