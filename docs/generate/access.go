package main

import (
	"strings"

	"ledger.example/functions/api"
)

// accessTable shows the role that each route requires, from the table that the API checks.
func accessTable() markdown {
	t := markdown{head: "route|role that a user needs|on|note"}
	for _, r := range api.AccessRules() {
		role, of := r.Role, r.Of
		switch {
		case role == "" && of == "":
			role, of = "none", ""
		case role == "":
			role, of = "none", strings.Trim(of, "()")
		case of == "the ledger":
			role, of = "not for users", ""
		}
		t.add("`"+r.Method+" "+r.Path+"`", role, of, r.Note)
	}
	return t
}
