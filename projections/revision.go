package projections

import (
	"strconv"

	"ledger.example/internal/store"
)

// Revision identifies one state of a stored item, which may be absent or lack a usable version. It changes with every
// write. It begins with one of the marks below. They describe the attribute that every write changes: the version of
// balances and summaries, the number of memberships.
type Revision string

// RevisionAbsent is the revision of an item that is not stored.
const RevisionAbsent Revision = ""

const (
	revisionNone   = "-" // the attribute is missing
	revisionNumber = "=" // the number follows
	revisionType   = ":" // the attribute has another type, which follows; only a rebuild replaces it with a number
)

// RevisionOf returns the revision of an item by the named attribute. item is nil if it is absent.
func RevisionOf(item store.Item, name string) Revision {
	if item == nil {
		return RevisionAbsent
	}
	value := item[name]
	switch kind := store.TypeOf(value); kind {
	case "":
		return revisionNone
	case "N":
		return Revision(revisionNumber + store.DigitsOf(value))
	default:
		return Revision(revisionType + kind)
	}
}

// revisionRead returns the revision that a write compares: given, or if it is nil the revision of the version that was
// read. Version 0 is an absent item.
func revisionRead(version int64, given *Revision) Revision {
	switch {
	case given != nil:
		return *given
	case version == 0:
		return RevisionAbsent
	}
	return Revision(revisionNumber + strconv.FormatInt(version, 10))
}

// Replace returns the put of item on the condition that the stored one still has revision r by the named attribute.
// Without a name it replaces any stored item.
func (r Revision) Replace(item store.Item, name string) store.Write {
	w := store.Write{Item: item}
	switch {
	case r == RevisionAbsent:
		w.If = store.IfAbsent
		return w
	case name == "":
		return w
	}
	w.Names = map[string]string{"#revision": name}
	switch kind, value := r[:1], string(r[1:]); kind {
	case revisionNone:
		w.If = "attribute_exists(" + store.AttrPK + ") AND attribute_not_exists(#revision)"
	case revisionNumber:
		w.If = "#revision = :revision"
		w.Values = store.Item{":revision": store.Digits(value)}
	default:
		w.If = "attribute_type(#revision, :type)"
		w.Values = store.Item{":type": store.String(value)}
	}
	return w
}
