package verify

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
)

// event decodes an event and ignores its checksum. ok is false if the item is not an event, or is malformed.
func event(item store.Item) (e events.Event, ok bool) {
	if !store.IsEvent(store.Read(item).Text(store.AttrSK)) || item[store.AttrChecksum] == nil {
		return nil, false
	}
	item = maps.Clone(item)
	item[store.AttrChecksum] = store.String(storetest.Checksum(item))
	e, err := store.DecodeEvent(item)
	return e, err == nil
}

// recomputeChecksums makes altered events consistent, as a skilled attacker would: it recomputes their checksums, and
// updates the copies of them in entries of holds and in current accounts.
func (b book) recomputeChecksums() {
	before := make(map[store.Key]string) // checksums before
	b.eachEvent(func(k store.Key, e events.Event) {
		before[k] = b.text(k, store.AttrChecksum)
		b[k] = store.EventItem(e)
	})
	for k, item := range b {
		if _, _, isEntry := store.Hold.Parse(k); isEntry {
			for _, name := range []string{store.AttrHeader, store.AttrEnded} {
				m, ok := item[name].(*types.AttributeValueMemberM)
				if !ok {
					continue
				}
				if of, err := store.KeyOf(m.Value); err == nil && before[of] == store.Read(m.Value).Text(store.AttrChecksum) {
					item[name] = store.Map(b[of])
				}
			}
		}
		if account, isCurrent := store.Current.Parse(k); isCurrent {
			number := store.Read(item).Integer(store.AttrNumber)
			of := store.Change.Key(account, number)
			if e, ok := event(b[of]); ok && before[of] == b.text(k, store.AttrChecksum) {
				b[k] = store.NewItemEncoder(1).Current(e.(events.AccountChanged))
			}
		}
	}
}
