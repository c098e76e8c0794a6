package events

import (
	"fmt"
	"maps"
)

// DecodeListed reads an AssetRegistered, AccountOpened or GroupRegistered from the part of its stored form that lists
// show: Actor and Profile are not in it and come back empty, and as its checksum is over them too, it is not in it
// either. It is as strict as Decode with all else. Errors: those of Decode but ErrChecksum.
func DecodeListed(name string, version int, f Fields) (Event, error) {
	if name != assetRegistered && name != accountOpened && name != groupRegistered {
		return nil, fmt.Errorf("%w: no list shows %q", ErrUnknownEvent, name)
	}
	whole := Fields{"Actor": "-"} // any actor
	maps.Copy(whole, f)
	e, err := decode(name, version, whole)
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case AssetRegistered:
		e.Actor = ""
		return e, nil
	case AccountOpened:
		e.Actor, e.Profile = "", ""
		return e, nil
	case GroupRegistered:
		e.Actor = ""
		return e, nil
	}
	return e, nil
}
