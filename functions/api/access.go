package api

import (
	"fmt"

	"ledger.example/client"
	"ledger.example/internal/access"
)

// A rule says who may use a route. Services and administrators may use all routes. Users need a role.
type rule struct {
	of   client.Subject
	role access.Role // the weakest that suffices
	note string      // other conditions, for people
}

// AccessRule is a line of the table of who may do what, for people.
type AccessRule struct {
	Method, Path string
	Role         string // the weakest that suffices; "" if users need none
	Of           string // what the role must be on
	Note         string
}

// AccessRules returns who may do what, for the routes that are not public, in their order.
func AccessRules() []AccessRule {
	var lines []AccessRule
	for _, r := range routes() {
		if !r.public() {
			line := AccessRule{Method: r.method, Path: r.pattern, Note: r.may.note, Role: r.may.role.String()}
			if r.may.of != client.OnNothing {
				line.Of = string(r.may.of)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// checkRules returns routes. It panics if a route under /v1 has no rule, so that no route is public by mistake.
func checkRules(routes []route) []route {
	for _, r := range routes {
		if r.may.of == "" && !r.public() {
			panic(fmt.Sprintf("%s %s has no rule that says who may: functions/api/routes.go", r.method, r.pattern))
		}
	}
	return routes
}
