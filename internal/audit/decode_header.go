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
}

// isHold reports whether the transaction is a hold.
func (h header) isHold() bool { return h.expires != "" }

// header reads the attributes of a header. Its time is in the KSUIDs of its legs. With an effective date it is in an
// attribute.
func (r *reader) header(id string) header {
	h := header{event: r.event("", ""), id: id, kind: r.kind(), description: r.description()}
	r.same(fieldID, id)
	h.metadata, h.legs = r.metadata("Metadata"), r.legs()
	h.fingerprint, _ = r.string(fieldFingerprint)
	h.checksum = textOf(r.item[store.AttrChecksum])
	if textOf(r.item[store.AttrType]) == kindHeld {
		h.expires = r.valid("ExpiresAt", "a time in UTC with six decimals", isInstant)
	}
	if h.kind == reversal {
		h.reverses = r.id("Reverses")
	}
	r.actor()
	if len(h.legs) > 0 {
		h.at, _ = instantOf(h.legs[0].ksuid)
	}
	if r.has(fieldRecorded) {
		effective := h.at
		h.at, h.effective = r.instant(fieldRecorded), effective.Format(instantForm)
		if !r.broken && (h.isHold() || !h.at.After(effective)) {
			r.fault(WrongValue, fieldRecorded, "a time after that of the legs; a hold has no such attribute")
		}
	}
	return h
}

// metadata reads an optional map of strings.
func (r *reader) metadata(name string) map[string]string {
	m, ok := r.optional().nested(name)
	if !ok {
		return nil
	}
	metadata, bytes := make(map[string]string, len(m.item)), 0
	for key := range m.item {
		metadata[key] = m.text(key, 0, 256)
		if !isText(key, 1, 40) {
			m.fault(WrongValue, key, "a key of 1 to 40 characters")
		}
		bytes += len(key) + len(metadata[key])
	}
	if len(metadata) == 0 || len(metadata) > 20 || bytes > 4096 {
		r.fault(WrongValue, name, "1 to 20 pairs of at most 4096 bytes in all")
	}
	return metadata
}

// legs reads the legs of a header or of an end. Their KSUIDs must increase and have the same instant.
func (r *reader) legs() (legs []leg) {
	var instant time.Time
	before := ""
	r.maps(fieldLegs, "legs", 2, 48, func(one *reader) {
		l := leg{ksuid: one.ksuid(fieldID), account: one.id(store.AttrAccount), asset: one.id(store.AttrAsset)}
		one.amounts(&l)
		at, ok := instantOf(l.ksuid)
		switch {
		case !ok: // ksuid reported it
		case len(legs) == 0:
			instant = at
		case l.ksuid <= before, !at.Equal(instant):
			one.fault(WrongValue, fieldID, "a KSUID after the previous leg's, of the same instant")
		}
		before, legs = l.ksuid, append(legs, l)
	})
	return legs
}
