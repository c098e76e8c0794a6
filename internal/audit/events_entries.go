package audit

import (
	"cmp"
	"context"
	"fmt"

	"ledger.example/internal/table"
)

// entry is a hold's entry in one of its lists: in that of an account, or in the one by expiry.
type entry struct {
	key     table.Key
	account string // "" of the one by expiry
}

// entriesOf returns the entries that a hold must have.
func (a *Audit) entriesOf(l life) (all []entry) {
	for _, account := range l.accounts() {
		all = append(all, entry{table.HoldKey(account, l.legs[0].ksuid), account})
	}
	return append(all, entry{table.OpenHoldKey(l.expires, l.id), ""})
}

// judge compares an entry with its hold, which was read before: right, moving, behind, wrong, or beyond if it shows an
// end that does not exist.
func (e entry) judge(ctx context.Context, a *Audit, l life) (found Finding, s state) {
	item := a.get(ctx, e.key)
	value, _ := decode(item)
	version, placedAs, endedAs := int64(0), "", "" // 0: there is no entry
	switch v := value.(type) {
	case holdEntry:
		version, placedAs = v.version, v.header.checksum
		if v.end != nil {
			endedAs = v.end.checksum
		}
	case openHold:
		version, placedAs = v.version, l.checksum
	default:
		if len(item) > 0 {
			return found, right // the scan reports it
		}
	}
	wanted, at := int64(openVersion), l.at
	if l.end != nil {
		wanted = endedVersion
	}
	if version == openVersion && l.end != nil {
		at = l.end.at
	}
	code := HoldEntryWrong
	switch {
	case version > wanted:
		code, s = HoldEntryAlone, beyond
	case version > 0 && placedAs != l.checksum, version == endedVersion && e.account != "" && endedAs != l.end.checksum:
		s = wrong
	case version == wanted:
		return found, right
	case at.After(a.Now().Add(-a.Settle)):
		return found, moving
	default:
		code, s = HoldEntryBehind, behind
	}
	return Finding{code, e.key, "", entryText(version, placedAs, endedAs), l.entryText(wanted)}, s
}

// entryText returns what the hold's entries must show.
func (l life) entryText(version int64) string {
	ended := ""
	if l.end != nil {
		ended = l.end.checksum
	}
	return entryText(version, l.checksum, ended)
}

// entryText shows an entry, of which the events are told by their checksums.
func entryText(version int64, placed, ended string) string {
	switch version {
	case 0:
		return absent
	case openVersion:
		return fmt.Sprintf("open, header %s", placed)
	}
	return fmt.Sprintf("ended, header %s, end %s", placed, ended)
}

// compareKeys orders keys as the table does.
func compareKeys(k, l table.Key) int { return cmp.Or(cmp.Compare(k.PK, l.PK), cmp.Compare(k.SK, l.SK)) }
