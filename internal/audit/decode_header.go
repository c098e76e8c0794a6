package audit

import (
	"time"

	"ledger.example/internal/store"
)

// header is the event of a transaction, with all its legs.
type header struct {
	event
	id, kind, description string
	metadata              map[string]string
	legs                  []leg // at least two; of a hold the planned ones
	fingerprint, checksum string
	expires               string // of a hold: its time of expiry; else ""
	reverses              string // of a reversal: the id of the reversed transaction; else ""
	effective             string // the effective date, which is also in the KSUIDs of the legs; "" if there is none
	period                int64  // with an effective date: the number of the newest closing of the books, or 0
}

// isHold reports whether the transaction is a hold.
func (h header) isHold() bool { return h.expires != "" }

// readHeader reads a header. Its time is in the KSUIDs of its legs. With an effective date it is in an attribute.
func readHeader(r *reader, key []string) header {
	h := header{id: key[0], checksum: textOf(r.item[store.AttrChecksum])}
	r.read(
		keyed(fieldID, h.id),
		must(fieldKind, aKind, &h.kind),
		aDescription(&h.description),
		theMetadata(&h.metadata),
		theLegs(&h.legs),
		must(fieldFingerprint, anyText, &h.fingerprint),
		anActor,
	)
	if textOf(r.item[store.AttrType]) == kindHeld {
		r.read(must("ExpiresAt", anExpiry, &h.expires))
	}
	if h.kind == reversal {
		r.read(must("Reverses", anID, &h.reverses))
	}
	h.at = timeOf(h.legs)
	if r.has(fieldRecorded) {
		effective := h.at
		h.effective = effective.Format(instantForm)
		r.read(must(fieldRecorded, anInstant, &h.at), may(fieldPeriod, aGrant, &h.period))
		if !r.broken && (h.isHold() || !h.at.After(effective)) {
			r.fault(WrongValue, fieldRecorded, "a time after that of the legs; a hold has no such attribute")
		}
	}
	return h
}

// theMetadata is a row for an optional map of strings.
func theMetadata(to *map[string]string) row {
	isKey := func(key string) bool { return isText(key, 1, 40) }
	isSmall := func(all map[string]string) bool {
		bytes := 0
		for key, value := range all {
			bytes += len(key) + len(value)
		}
		return len(all) <= 20 && bytes <= 4096
	}
	return dictionary("Metadata", ofLength(0, 256), isKey, isSmall, to,
		"1 to 20 pairs of at most 4096 bytes in all, with keys of 1 to 40 characters")
}

// theLegs is a row for the legs of a header or of an end. Their KSUIDs must increase and have the same instant.
func theLegs(to *[]leg) row {
	return list(fieldLegs, "legs", 2, 48, func(one *reader) {
		var l leg
		one.read(
			must(fieldID, aKSUID, &l.ksuid),
			must(store.AttrAccount, anID, &l.account),
			must(store.AttrAsset, anID, &l.asset),
		)
		one.read(l.amounts()...)
		if legs := *to; len(legs) > 0 && !one.broken &&
			(l.ksuid <= legs[len(legs)-1].ksuid || !timeOf([]leg{l}).Equal(timeOf(legs))) {
			one.fault(WrongValue, fieldID, "a KSUID after the previous leg's, of the same instant")
		}
		*to = append(*to, l)
	})
}

// timeOf returns the time in the KSUIDs of legs.
func timeOf(legs []leg) (at time.Time) {
	if len(legs) > 0 {
		at, _ = instantOf(legs[0].ksuid)
	}
	return at
}
