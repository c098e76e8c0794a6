package main

import (
	"strings"

	"ledger.example/functions/api"
)

// accessTable is the table of who may do what, as the API checks it.
func accessTable() markdown {
	t := markdown{head: "route|a user needs the role|on|and"}
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
