// Package declared has a resource that the API does not have. The tests of the server, of openapi.json and of the
// command line serve it, describe it and call it: a field that is added to its type appears in each of them.
package declared

import (
	"net/http"

	"ledger.example/client"
)

// Boat is a boat.
type Boat struct {
	ID      string `path:"boat" json:"id" is:"ID" in:"same" example:"ketch" names:"own" label:"Boat"`
	Name    string `json:"name" is:"Text" in:"required" example:"Ketch" flag:"name of the boat"`
	Masts   int    `json:"masts,omitempty" least:"0" most:"5" example:"2" flag:"number of masts"`
	Port    string `json:"port,omitempty" is:"ID" example:"home" names:"own" flag:"port of the boat"`
	BuiltAt string `json:"built_at" is:"Time" in:"same" list:"-" label:"Built"`
}

// PutBoat registers a boat.
var PutBoat = client.Op[Boat, Boat]{
	ID: "putBoat", Method: http.MethodPut, Path: "/v1/boats/{boat}", Summary: "Register a boat",
	May: client.Permission{On: client.OnNothing}, OK: "It was there.", Created: "Registered.",
	Refusals: "group_exists",
}
