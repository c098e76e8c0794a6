package projections

import (
	"fmt"
	"strconv"

	"ledger.example/ledger/table"
)

// Difference is an item of a projection that is not what its events make of it.
type Difference struct {
	Key    table.Key
	Absent bool    // it is not there at all
	Fault  string  // why it is not as this code would have stored it; "": it is
	Fields []Field // what is other than it is to be
	// Behind tells that nothing is wrong: postings came moments ago, and the projector has not counted them yet.
	Behind bool
}

// Field is one figure of an item, in words.
type Field struct{ Name, Stored, Becomes string }

// Stray is an item under a key of projections that no rebuild can make right, as nothing is ever deleted.
type Stray struct {
	Key table.Key
	Why string
}

// field is the name of a figure, and what it is.
type field [2]string

func differenceOf[T any](key table.Key, found Found[T], becomes T, fields func(T) []field) Difference {
	d := Difference{Key: key, Absent: !found.There}
	if found.Fault != nil {
		d.Fault = found.Fault.Error()
	}
	stored, wanted := fields(found.Value), fields(becomes)
	for i, w := range wanted {
		if stored[i] != w {
			d.Fields = append(d.Fields, Field{Name: w[0], Stored: stored[i][1], Becomes: w[1]})
		}
	}
	return d
}

func (b Balance) fields() []field {
	var all []field
	for _, f := range []struct {
		name string
		fold Fold
	}{{"base", b.Base}, {"seal", b.Seal}, {"head", b.Head}} {
		all = append(all, f.fold.fields(f.name+".")...)
	}
	return append(all, field{"first", string(b.First)}, field{"unfinished", strconv.FormatBool(b.Unfinished)})
}

func (s Segment) fields() []field {
	return append([]field{{"after", string(s.After)}}, s.Fold.fields("")...)
}

func (f Fold) fields(of string) []field {
	return []field{
		{of + "through", string(f.Through)},
		{of + "credits", f.Credits.String()},
		{of + "debits", f.Debits.String()},
		{of + "expenditure", f.Expenditure.String()},
		{of + "count", fmt.Sprint(f.Count)},
	}
}

func (s Summary) fields() []field {
	return []field{{"assets", fmt.Sprint(s.Assets)}, {"holdings", fmt.Sprint(s.Holdings)}, {"first", string(s.First)}}
}

func (m Membership) fields() []field {
	return []field{{"role", string(m.Role)}, {"number", fmt.Sprint(m.Number)}}
}
