package importer

import (
	"slices"
	"strings"
	"testing"

	"ledger.example/client"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]command{
		`{"asset":{"id":"AAPL","name":"Apple","scale":0,"currency":"USD"}}`: {
			Command: client.Command{Kind: client.KindAsset, ID: "AAPL", Body: []byte(`{"name":"Apple","scale":0,"currency":"USD"}`)},
			assets:  []string{"USD"}},
		// The server validates bodies, so they reach it unchanged: duplicate and unknown fields, numbers, order.
		` { "asset" : { "scale" : 2e0 , "x":1, "id" : "A", "scale":3 } } `: {
			Command: client.Command{Kind: client.KindAsset, ID: "A", Body: []byte(`{"scale":2e0,"x":1,"scale":3}`)}},
		`{"account":{"id":"bank","overdraft":"unlimited"}}`: {
			Command:   client.Command{Kind: client.KindAccount, ID: "bank", Body: []byte(`{"overdraft":"unlimited"}`)},
			unlimited: true},
		`{"account":{"id":"margin","overdraft":{"USD":"500000"}}}`: {
			Command: client.Command{Kind: client.KindAccount, ID: "margin", Body: []byte(`{"overdraft":{"USD":"500000"}}`)},
			assets:  []string{"USD"}},
		`{"account":{"id":"only"}}`: {
			Command: client.Command{Kind: client.KindAccount, ID: "only", Body: []byte(`{}`)}},
		`{"transaction":{"id":"t","postings":[{"account":"a","asset":"X"},{"account":"b","asset":"X"},7]}}`: {
			Command: client.Command{Kind: client.KindTransaction, ID: "t",
				Body: []byte(`{"id":"t","postings":[{"account":"a","asset":"X"},{"account":"b","asset":"X"},7]}`)},
			assets: []string{"X", "X"}, accounts: []string{"a", "b"}},
		`{"transfer":{"from":"a","to":"b","asset":"X","id":"t"}}`: {
			Command: client.Command{Kind: client.KindTransfer, ID: "t", Body: []byte(`{"from":"a","to":"b","asset":"X","id":"t"}`)},
			assets:  []string{"X"}, accounts: []string{"a", "b"}},
		`{"trade":{"id":"t","buyer":"a","seller":"b","asset":"X","cost":"0","settle":true}}`: {
			Command: client.Command{Kind: client.KindTrade, ID: "t", Body: []byte(`{"id":"t","buyer":"a","seller":"b","asset":"X","cost":"0","settle":true}`)},
			assets:  []string{"X"}, accounts: []string{"a", "b"}},
		`{"capture":{"quantity":"5","transaction":"h"}}`: {
			Command: client.Command{Kind: client.KindCapture, ID: "h", Of: "h", Body: []byte(`{"quantity":"5"}`)}},
		`{"release":{"transaction":"h"}}`: {
			Command: client.Command{Kind: client.KindRelease, ID: "h", Of: "h", Body: []byte(`{}`)}},
		`{"reversal":{"id":"r","transaction":"t","x":1}}`: {
			Command: client.Command{Kind: client.KindReversal, ID: "r", Of: "t", Body: []byte(`{"id":"r","x":1}`)}},
		`{"transfer":{"id":"t","from":7,"to":"b"}}`: {
			Command:  client.Command{Kind: client.KindTransfer, ID: "t", Body: []byte(`{"id":"t","from":7,"to":"b"}`)},
			accounts: []string{"b"}},
	} {
		got, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Kind != want.Kind || got.ID != want.ID || got.Of != want.Of || string(got.Body) != string(want.Body) || got.unlimited != want.unlimited ||
			!slices.Equal(got.assets, want.assets) || !slices.Equal(got.accounts, want.accounts) {
			t.Errorf("%s\n got %+v %s\nwant %+v %s", text, got, got.Body, want, want.Body)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for text, says := range map[string]string{
		`{`:                       "ends too early",
		`nonsense`:                "invalid character",
		`[]`:                      "does not begin with {",
		`{}`:                      "has 0 members",
		`{"asset":{"id":"A"}} {}`: "data follows",
		`{"asset":{"id":"A"}}]`:   "data follows",
		`{"assets":{"id":"A"}}`:   "must be asset, account",
		`{"Asset":{"id":"A"}}`:    "must be asset, account",
		`{"asset":{"id":"A"},"account":{"id":"B"}}`: "has 2 members",
		`{"asset":{"id":"A"},"asset":{"id":"A"}}`:   "has 2 members",
		`{"asset":[]}`:                       "asset: not a JSON object",
		`{"asset":null}`:                     "asset: not a JSON object",
		`{"asset":{"name":"A"}}`:             "asset.id: is missing",
		`{"transfer":{"from":"a","to":"b"}}`: "transfer.id: is missing",
		`{"transaction":{"id":""}}`:          "transaction.id: is missing",
		`{"transaction":{"id":null}}`:        "transaction.id: is missing",
		`{"trade":{"id":"t","buyer":"a","seller":"b","asset":"X","quantity":"1"}}`: `trade.cost: is missing; for a free trade, write "cost":"0"`,
		`{"trade":{"ID":"t"}}`:                              "trade.id: is missing",
		`{"trade":{"id":7}}`:                                "trade.id: must be a string",
		`{"trade":{"id":"t","id":"t"}}`:                     "trade.id: is given twice",
		`{"account":{"id":"a/b"}}`:                          `account.id: "a/b" is not an id`,
		`{"account":{"id":".."}}`:                           `account.id: ".." is not an id`,
		`{"capture":{"id":"h"}}`:                            "capture.transaction: is missing",
		`{"release":{"transaction":"a/b"}}`:                 `release.transaction: "a/b" is not an id`,
		`{"reversal":{"transaction":"t"}}`:                  "reversal.id: is missing",
		`{"reversal":{"id":"r"}}`:                           "reversal.transaction: is missing",
		`{"capture":{"transaction":"h","transaction":"i"}}`: "capture.transaction: is given twice",
		`{"transfer":{"id":"t","from":"a"`:                  "ends too early",
		"{\"transfer\":{\"id\":\"t\x00\"}}":                 "invalid character",
	} {
		if got, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v; want an error with %q", text, got, err, says)
		}
	}
}
