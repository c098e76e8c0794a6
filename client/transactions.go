package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// TransactionID names a transaction.
type TransactionID struct {
	ID string `path:"id"`
}

// HoldsQuery selects the holds of an account.
type HoldsQuery struct {
	AccountID
	// Only holds with this status.
	Status string `query:"status" enum:"held,captured,released,expired"` // "" for all
}

// TransactionsQuery selects transactions. The zero time is no bound.
type TransactionsQuery struct {
	// Only transactions that were posted at this time or later, in RFC 3339 format. It must not be in the future.
	From time.Time `query:"from" time:"past" before:"to" example:"2026-11-01T00:00:00Z"`
	// Only transactions that were posted before this time, in RFC 3339 format.
	To time.Time `query:"to" example:"2026-12-01T00:00:00Z"`
	// `asc` lists the oldest first.
	OldestFirst bool `query:"order" enum:"asc,desc" default:"desc"`
	// An indexed metadata key and its value. `KEY` stands for the key. The error of another key names the indexed ones.
	Metadata map[string]string `query:"metadata.KEY" is:"MetadataValue" example:"1001"` // one, or none
}

const (
	transactionsPath   = "/v1/transactions"
	oneTransactionPath = transactionsPath + "/{id}"

	// postRefusals are the codes with which new transactions are refused.
	postRefusals = "transaction_id_reused invalid_transaction unbalanced account_not_found asset_not_found " +
		"account_frozen account_closed period_closed insufficient_funds rate_exceeded"

	effectiveNote = "only administrators may set effective_at"
	replayNote    = "A request with this id and body was posted before. This is the first answer. " + dryNote
	dryNote       = "With `dry_run`: what would be answered."
)

// The operations that post transactions, reverse them and end holds. A dry run is one of their parameters.
var (
	// All postings are stored, or none. A debit of an account with a limit is refused unless its balance and overdraft
	// cover it. The net effect of the transaction on each account and asset counts. If an earlier request with the
	// same id got no answer, it may still succeed: a 422, or a 404 on `GET`, is final only 10 seconds after that
	// request was sent. With `hold`, the transaction is a hold: nothing is posted until it is captured.
	PostTransaction = Op[TransactionRequest, Transaction]{
		ID: "postTransaction", Method: http.MethodPost, Path: transactionsPath, Summary: "Post a transaction",
		May: operators, Dry: true, OK: replayNote, Created: "Posted.", Refusals: postRefusals,
	}
	// Posts a transaction of two postings, from and to. If an earlier request with the same id got no answer, it may
	// still succeed: a 422, or a 404 on `GET`, is final only 10 seconds after that request was sent. With `hold`, the
	// transaction is a hold: nothing is posted until it is captured.
	PostTransfer = Op[Transfer, Transaction]{
		ID: "postTransfer", Method: http.MethodPost, Path: "/v1/transfers", Summary: "Post a transfer",
		May: operators, Dry: true, OK: replayNote, Created: "Posted.", Refusals: postRefusals,
	}
	// Posts a transaction of buyer +quantity +cost and seller −quantity −cost, with the cash legs if `settle` is
	// true. If an earlier request with the same id got no answer, it may still succeed: a 422, or a 404 on `GET`, is
	// final only 10 seconds after that request was sent. With `hold`, the transaction is a hold: nothing is posted
	// until it is captured.
	PostTrade = Op[Trade, Transaction]{
		ID: "postTrade", Method: http.MethodPost, Path: "/v1/trades", Summary: "Post a trade", May: operators,
		Dry: true, OK: replayNote, Created: "Posted.", Refusals: postRefusals,
	}
	// Divides a quantity among accounts, and posts a transaction of from −quantity and a posting for each portion of
	// `to` that is not zero, in their order. Its kind is `transaction`. First each share of the whole quantity is
	// rounded half up by itself, so the order does not matter. Then what the shares and quantities leave is divided
	// among those with a `rest`. If they take more than the quantity, the request is refused with
	// `invalid_transaction`; if something is left and nobody has a `rest`, with `unbalanced`. With `hold`, the
	// transaction is a hold: nothing is posted until it is captured. If an earlier request with the same id got no
	// answer, it may still succeed: a 422, or a 404 on `GET`, is final only 10 seconds after that request was sent.
	PostSplit = Op[Split, Transaction]{
		ID: "postSplit", Method: http.MethodPost, Path: "/v1/splits", Summary: "Post a split", May: operators,
		Dry: true, OK: replayNote, Created: "Posted.", Refusals: postRefusals,
	}
	// Posts what is held, in whole or in part. The rest becomes available again. A capture needs no funds, because
	// they are reserved. It needs no id, because a hold ends once; the same capture again gets the first answer. After
	// `expires_at`, the answer is 503 `unavailable` for 5 seconds, or 504 if an attempt was made before: send the same
	// capture again. Later, a capture is refused.
	CaptureHold = Op[Capture, Transaction]{
		ID: "captureHold", Method: http.MethodPost, Path: oneTransactionPath + "/capture", Summary: "Capture a hold",
		May: Permission{OnHold, RoleOperator, "the hold must have been placed by a user"}, Dry: true,
		OK: "The hold was captured, by this request or an earlier one. " + dryNote,
		Refusals: "hold_ended invalid_transaction unbalanced not_a_hold hold_expired exceeds_hold cost_required " +
			"nothing_captured",
	}
	// Ends the hold without posting anything, even after its expiry. What it reserves becomes available again. A
	// second release gets the first answer.
	ReleaseHold = Op[Release, Transaction]{
		ID: "releaseHold", Method: http.MethodPost, Path: oneTransactionPath + "/release", Summary: "Release a hold",
		May: CaptureHold.May, Dry: true, OK: "The hold was released, by this request or an earlier one. " + dryNote,
		Refusals: "hold_ended not_a_hold",
	}
	// Posts a transaction of kind `reversal`, which reverses another one, in whole or in part. All reversals of a
	// transaction together never reverse more than was posted. A reversal needs funds, like every debit.
	ReverseTransaction = Op[Reversal, Transaction]{
		ID: "reverseTransaction", Method: http.MethodPost, Path: oneTransactionPath + "/reversals",
		Summary: "Reverse a transaction", May: Permission{OnReversed, RoleOperator, effectiveNote}, Dry: true,
		OK: replayNote, Created: "Reversed: the reversing transaction.",
		Refusals: "transaction_id_reused invalid_transaction unbalanced nothing_to_reverse exceeds_reversible " +
			"cost_required period_closed insufficient_funds",
	}
)

// BatchRequest has the requests of a batch by their kind.
type BatchRequest struct {
	// The default is false: each request is carried out or refused on its own. If true, all are carried out or none.
	Atomic bool `json:"atomic"`
	// No two requests may have the same id, and no hold may be ended twice. A request cannot spend what only a later
	// request credits or gives back.
	Requests []map[Kind]json.RawMessage `json:"requests" is:"BatchRequest" in:"required" least:"1" most:"100"`
}

// BatchResults has the results of a batch.
type BatchResults struct {
	// `true` in a dry run, in which nothing is written. Absent otherwise.
	DryRun bool `json:"dry_run,omitempty"`
	// One for each request, in their order.
	Results []result `json:"results" is:"BatchResult" least:"1" most:"100"`
}

// Up to 100 transactions, transfers, trades and reversals, each with its id, and captures and releases of holds. Each
// is carried out or refused as if it had been sent alone. With `atomic`, all are carried out or none; if one is
// refused, the answer is the first refusal. All requests together may have at most 400 postings: a transfer or a trade
// has two, a settled trade four. A capture, a release and a reversal count as four, or as the postings that they list.
// A batch of a user may need roles on at most 200 accounts. Send the same batch again until each request has an answer.
// None is carried out twice.
var PostBatch = Op[BatchRequest, BatchResults]{
	ID: "postBatch", Method: http.MethodPost, Path: batchesPath, Summary: "Post a batch",
	May: Permission{OnDebited, RoleOperator, "each request is checked as on its own route; " + effectiveNote},
	Dry: true, OK: "The results, one for each request. For an atomic batch, all requests were carried out before.",
	Created: "An atomic batch was carried out.",
	Refusals: "transaction_id_reused hold_ended invalid_transaction batch_too_large period_closed " +
		"insufficient_funds rate_exceeded",
}

// The operations that read transactions.
var (
	// By `posted_at`, newest first unless `order` says otherwise. A hold is listed at the time when it was placed. The
	// list is about a second behind. Each transaction is shown with its current status, but without what was reversed
	// of it.
	ListTransactions = Op[TransactionsQuery, List[Transaction]]{
		ID: "listTransactions", Path: transactionsPath, Summary: "List transactions by time, all or by metadata",
		May: admins,
	}
	// Strongly consistent. The transaction is shown with its status, its end if it is a hold, what was reversed of it,
	// and its newest reversals.
	GetTransaction = Op[TransactionID, Transaction]{
		ID: "getTransaction", Path: oneTransactionPath, Summary: "Get a transaction with all its postings",
		May: legViewers, Tagged: true,
	}
	// Oldest first. Strongly consistent. Users do not see a reversal of which they may see no posting.
	ListReversals = Op[TransactionID, List[Transaction]]{
		ID: "listReversals", Path: oneTransactionPath + "/reversals", Summary: "List the reversals of a transaction",
		May: legViewers,
	}
	// Holds that debit or credit the account. The list may lag. For a user, a page ends where its transactions name
	// about 200 accounts.
	ListHolds = Op[HoldsQuery, List[Transaction]]{
		ID: "listHolds", Path: accountPath + "/holds", Summary: "List an account's holds, newest first",
		May: viewersOf("legs of accounts"),
	}
	// By expiry. A hold that has just ended may still be listed. So may an expired hold, until the ledger ends it.
	ListOpenHolds = Op[struct{}, List[Transaction]]{
		ID: "listOpenHolds", Path: "/v1/holds", Summary: "List all open holds", May: admins,
	}
)

// Transaction reads a transaction with all its postings, strongly consistent.
func (c *Client) Transaction(ctx context.Context, id string) (Reply[Transaction], error) {
	return GetTransaction.Call(ctx, c, TransactionID{id})
}

// Holds lists the holds that debit or credit an account, newest first. status is StatusHeld, StatusCaptured,
// StatusReleased, StatusExpired, or "" for all.
func (c *Client) Holds(account, status string) Listing[Transaction] {
	return Listing[Transaction]{c, ListHolds.request(HoldsQuery{AccountID{account}, status})}
}

// OpenHolds lists all holds that have not ended, by their expiry.
func (c *Client) OpenHolds() Listing[Transaction] {
	return Listing[Transaction]{c, ListOpenHolds.request(struct{}{})}
}

// Reversals lists the transactions that reverse a transaction, oldest first.
func (c *Client) Reversals(transaction string) Listing[Transaction] {
	return Listing[Transaction]{c, ListReversals.request(TransactionID{transaction})}
}

// Transactions lists transactions by time, newest first unless q says otherwise. Their field Reversed is omitted. The
// list is about a second behind.
func (c *Client) Transactions(q TransactionsQuery) Listing[Transaction] {
	return Listing[Transaction]{c, ListTransactions.request(q)}
}
