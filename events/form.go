package events

// A Form is told the stored form of an event, attribute by attribute, in no order that means anything. What is told
// between BeginMap or BeginList and its End is in that map or list. Elements of a list have no name.
//
// It saves who stores an event the way over Fields, which costs more than all else of making an item.
type Form interface {
	Text(name, text string)
	Number(name string, n Amount)
	BeginMap(name string, size int) // size is the number of its fields
	BeginList(name string, size int)
	End()
}

// Write tells f the stored form of e. The table's adapter adds keys, name and version.
// It checks nothing: of an event that breaks the rules of its fields it makes a form that Decode refuses.
func Write(e Event, f Form) { e.write(f) }

// writeText tells of an optional text, which is absent when empty.
func writeText(f Form, name, text string) {
	if text != "" {
		f.Text(name, text)
	}
}

// fieldsForm makes Fields of what it is told.
type fieldsForm struct {
	open []opened // the outermost map, and what was begun in it and has not ended
}

// opened is a map or, if fields is nil, a list.
type opened struct {
	name   string
	fields Fields
	list   List
}

// Text implements Form.
func (f *fieldsForm) Text(name, text string) { f.put(name, text) }

// Number implements Form.
func (f *fieldsForm) Number(name string, n Amount) { f.put(name, Number(n.String())) }

// BeginMap implements Form.
func (f *fieldsForm) BeginMap(name string, size int) {
	f.open = append(f.open, opened{name: name, fields: make(Fields, size)})
}

// BeginList implements Form.
func (f *fieldsForm) BeginList(name string, size int) {
	f.open = append(f.open, opened{name: name, list: make(List, 0, size)})
}

// End implements Form.
func (f *fieldsForm) End() {
	last := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	if last.fields != nil {
		f.put(last.name, last.fields)
	} else {
		f.put(last.name, last.list)
	}
}

func (f *fieldsForm) put(name string, v any) {
	if in := &f.open[len(f.open)-1]; in.fields != nil {
		in.fields[name] = v
	} else {
		in.list = append(in.list, v)
	}
}
