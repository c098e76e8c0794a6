// Package api is the ledger over HTTP: every route of version 1, the same whichever server calls it.
//
// A request passes, in this order: its route and method, its caller, its body's type and size, its JSON, the shape of
// everything in it, and then the domain, which checks the rest and answers. Errors are problem details (RFC 9457). One
// table of routes drives the router, the page at the root and the test that keeps openapi.json true.
//
// The handlers hold no state but what they are made of, and are safe for concurrent use.
package api
