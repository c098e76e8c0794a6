package api

import (
	_ "embed"
	"encoding/json"
	"sync"

	"ledger.example/ledger"
)

// The codes of the API. Package ledger has the other codes.
const (
	codeNotFound         ledger.Code = "not_found"
	codeMethodNotAllowed ledger.Code = "method_not_allowed"
	codeUnauthenticated  ledger.Code = "unauthenticated"
	codeForbidden        ledger.Code = "forbidden"
	codeUnsupportedMedia ledger.Code = "unsupported_media_type"
	codeBodyTooLarge     ledger.Code = "body_too_large"
	codeMalformedBody    ledger.Code = "malformed_body"
	codeInvalidCursor    ledger.Code = "invalid_cursor"
)

// codeForeignHost is the code of a local ledger for requests with the host name of another machine. No function in AWS
// answers with it, so it is not in openapi.json.
const codeForeignHost ledger.Code = "foreign_host"

// kind is what all problems with the same code have in common.
type kind struct {
	Code    ledger.Code
	Status  int
	Title   string
	Meaning string // what happened
	Advice  string // what the caller can do
}

//go:embed problems.json
var kindsJSON []byte

// kinds returns the kinds of all codes, in the order of the checks. A problem about something that does not exist has
// the status 404 if the path names it, and the status of its kind if the body does.
var kinds = sync.OnceValue(func() (all []kind) {
	if err := json.Unmarshal(kindsJSON, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// kindOf returns the kind of a code. An unknown code is an internal error.
func kindOf(code ledger.Code) kind {
	all := kinds()
	for _, k := range all {
		if k.Code == code {
			return k
		}
	}
	return all[len(all)-1]
}
