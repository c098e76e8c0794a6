package projections

import "ledger.example/events"

// Balance is the projection of one Key: three nested folds. The zero Balance with a Key is one never written.
type Balance struct {
	Key
	Version    int64        // 0: never written; compared by every write
	Base       Fold         // all closed segments
	Seal       Fold         // through the newest posting that was settled when a refold began to read
	Head       Fold         // everything seen: what is shown
	First      events.KSUID // the earliest posting counted
	Unfinished bool         // saved on the way: must be read to the end; until then Seal may be ahead of Head
}

// AsOf is the newest posting that is shown, "" when there is none.
func (b Balance) AsOf() events.KSUID { return b.Head.Through }
