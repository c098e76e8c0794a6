package table_test

import (
	"strings"
	"testing"

	"ledger.example/ledger/table"
)

// sized returns an item of exactly that many bytes, in both indexes.
func sized(bytes int) table.Item {
	i := table.Item{
		table.AttrPK: table.String("p"), table.AttrSK: table.String("s"),
		table.AttrSK2: table.String("t"), table.AttrPK2: table.String("q"),
		table.AttrType: table.String("Balance"),
	}
	const name = "Filler"
	i[name] = table.String(strings.Repeat("x", bytes-i.Bytes()-len(name)))
	return i
}

// with returns a copy of i in which name is value; no value takes it away.
func with(i table.Item, name string, value ...table.Value) table.Item {
	j := table.Item{}
	for n, v := range i {
		j[n] = v
	}
	delete(j, name)
	for _, v := range value {
		j[name] = v
	}
	return j
}

// The sizes in AWS's "DynamoDB item sizes and formats".
func TestValueBytes(t *testing.T) {
	digits38 := strings.Repeat("9", 38)
	tests := []struct {
		name  string
		value table.Value
		want  int
	}{
		{"empty string", table.String(""), 0},
		{"string", table.String("jane"), 4},
		{"string in UTF-8, not characters", table.String("Zoë€"), 7},
		{"null", table.Null(), 1},
		{"bool", table.Bool(false), 1},
		{"zero", table.Number("0"), 1},
		{"one digit", table.Number("7"), 2},
		{"two digits", table.Number("42"), 2},
		{"three digits", table.Number("421"), 3},
		{"negative", table.Number("-42"), 3},
		{"trailing zeros don't count", table.Number("4200000000"), 2},
		{"leading zeros don't count", table.Number("0042"), 2},
		{"zeros inside count", table.Number("4002"), 3},
		{"fraction", table.Number("0.0425"), 3},
		{"fraction, zeros inside count", table.Number("-10.01"), 4},
		{"fraction's trailing zeros don't count", table.Number("1.500"), 2},
		{"38 digits", table.Number(digits38), 20},
		{"38 digits, negative", table.Number("-" + digits38), 21},
		{"empty list", table.List(), 3},
		{"list", table.List(table.String("ab"), table.Null()), 3 + 2 + 1 + 1 + 1},
		{"empty map", table.Map(nil), 3},
		{"map", table.Map(table.Item{"Count": table.Number("12")}), 3 + 5 + 2 + 1},
		{"map in list", table.List(table.Map(table.Item{"a": table.Bool(true)})), 3 + (3 + 1 + 1 + 1) + 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.value.Bytes(); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
	// AWS's own example: "Shirt-Color" with the value "R" takes 12 bytes.
	if got := (table.Item{"Shirt-Color": table.String("R")}).Bytes(); got != 12 {
		t.Errorf("Shirt-Color: %d bytes, want 12", got)
	}
}

// Values are equal if the store would call them equal.
func TestValueEquality(t *testing.T) {
	equal := [][2]table.Value{
		{table.Number("0"), table.Number("-0")},
		{table.Number("10"), table.Number("010.0")},
		{table.Map(table.Item{"a": table.Null(), "b": table.Null()}), table.Map(table.Item{"b": table.Null(), "a": table.Null()})},
	}
	for _, pair := range equal {
		if pair[0] != pair[1] {
			t.Errorf("%v and %v differ", pair[0], pair[1])
		}
	}
	distinct := []table.Value{
		table.String(""), table.String("1"), table.Number("1"), table.Number("-1"), table.Number("10"),
		table.Number("0.1"), table.Bool(true), table.Bool(false), table.Null(), table.String("true"),
		table.List(), table.Map(nil), table.List(table.String("1")), table.List(table.Number("1")),
		table.List(table.String("a"), table.String("b")), table.List(table.String("b"), table.String("a")),
		table.List(table.String(`a","b`)), table.Map(table.Item{"a": table.String("b")}),
	}
	for i, a := range distinct {
		for _, b := range distinct[i+1:] {
			if a == b {
				t.Errorf("%v and %v are equal", a, b)
			}
		}
	}
}

func TestWriteUnits(t *testing.T) {
	small, one, over := sized(200), sized(1024), sized(1025)
	tests := []struct {
		name              string
		before, after     table.Item
		plain, inTransact int
	}{
		{"new, up to 1 KB", nil, one, 1, 2},
		{"new, one byte more", nil, over, 2, 4},
		{"new, 3.5 KB", nil, sized(3584), 4, 8},
		{"new, the largest", nil, sized(table.ItemBytes), 400, 800},
		{"the smallest is still one", nil, table.Item{"PK": table.String("p")}, 1, 2},
		{"shrunk: the larger counts", over, small, 2, 4},
		{"grown: the larger counts", small, over, 2, 4},
		{"deleted: what it was", over, nil, 2, 4},
		{"nothing there, nothing made", nil, nil, 1, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := table.Write{Before: test.before, After: test.after}
			if got := table.WriteUnits(w); got != test.plain {
				t.Errorf("plain: %d units, want %d", got, test.plain)
			}
			w.Transactional = true
			if got := table.WriteUnits(w); got != test.inTransact {
				t.Errorf("in a transaction: %d units, want %d", got, test.inTransact)
			}
		})
	}
}

// What a write consumes in an index, beyond the table; a transaction doesn't double it.
func TestIndexUnits(t *testing.T) {
	all := table.Index{Name: "all", PartitionKey: "PK", SortKey: "SK2"}
	some := table.Index{Name: "some", PartitionKey: "PK2", SortKey: "PK", Include: []string{"Type"}}
	small, large := sized(200), sized(3000)
	tests := []struct {
		name          string
		index         table.Index
		before, after table.Item
		want          int
	}{
		{"put in", all, nil, small, 1},
		{"put in, of 3 KB", all, nil, large, 3},
		{"put in, projected attributes only are counted", some, nil, large, 1},
		{"without the sort key it isn't in", all, nil, with(small, "SK2"), 0},
		{"without the partition key it isn't in", some, nil, with(small, "PK2"), 0},
		{"taken out", all, large, nil, 3},
		{"loses its key", all, large, with(large, "SK2"), 3},
		{"gets its key", all, with(large, "SK2"), large, 3},
		{"unchanged", all, small, small, 0},
		{"unprojected attribute changed", some, small, with(small, "Filler", table.String("")), 0},
		{"projected attribute changed", some, small, with(small, "Type", table.String("Segment")), 1},
		{"projected attribute changed, the larger counts", all, large, small, 3},
		{"projected attribute taken away", some, small, with(small, "Type"), 1},
		{"sort key moved: out and in", all, small, with(small, "SK2", table.String("u")), 2},
		{"partition key moved: out and in", some, small, with(small, "PK2", table.String("u")), 2},
		{"moved, of 3 KB", all, large, with(large, "SK2", table.String("u")), 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, transactional := range []bool{false, true} {
				w := table.Write{Before: test.before, After: test.after, Transactional: transactional}
				if got := table.WriteUnits(w, test.index) - table.WriteUnits(w); got != test.want {
					t.Errorf("transactional %v: %d units, want %d", transactional, got, test.want)
				}
			}
		})
	}
}

func TestConditionCheckUnits(t *testing.T) {
	for _, test := range []struct {
		item table.Item
		want int
	}{{nil, 2}, {sized(1024), 2}, {sized(1025), 4}} {
		if got := table.ConditionCheckUnits(test.item); got != test.want {
			t.Errorf("%d bytes: %d units, want %d", test.item.Bytes(), got, test.want)
		}
	}
}

func TestReadHalves(t *testing.T) {
	tests := []struct {
		name                    string
		items                   []table.Item
		eventual, strong, apart int // apart: each got by itself in a transaction
	}{
		{"absent", nil, 1, 2, 4},
		{"up to 4 KB", []table.Item{sized(4096)}, 1, 2, 4},
		{"one byte more", []table.Item{sized(4097)}, 2, 4, 8},
		{"AWS's example of 8 KB", []table.Item{sized(8192)}, 2, 4, 8},
		{"a query adds up before it rounds", []table.Item{sized(2048), sized(2048)}, 1, 2, 8},
		{"and over the boundary", []table.Item{sized(2048), sized(2049)}, 2, 4, 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := table.QueryHalves(test.items, table.Eventual); got != test.eventual {
				t.Errorf("eventual query: %d halves, want %d", got, test.eventual)
			}
			if got := table.QueryHalves(test.items, table.Strong); got != test.strong {
				t.Errorf("strong query: %d halves, want %d", got, test.strong)
			}
			apart := 0
			for _, item := range test.items {
				apart += table.GetHalves(item, table.Transactional)
			}
			if test.items == nil {
				apart = table.GetHalves(nil, table.Transactional)
			}
			if apart != test.apart {
				t.Errorf("transactional gets: %d halves, want %d", apart, test.apart)
			}
		})
	}
}

// A balance's figures change without a write to either index; another role of a member is one.
func TestIndexesOfTheTable(t *testing.T) {
	balance := table.Item{
		table.AttrPK: table.String("ACCOUNT#x"), table.AttrSK: table.String("BALANCE#a"),
		table.AttrPK2: table.String("ASSET#a"), table.AttrType: table.String(table.KindBalance),
		table.AttrAccount: table.String("x"), table.AttrAsset: table.String("a"),
		table.AttrVersion: table.Number("1"), table.AttrHead: table.Map(nil),
	}
	changed := with(with(balance, table.AttrVersion, table.Number("2")), table.AttrHead,
		table.Map(table.Item{table.AttrCount: table.Number("1")}))
	if got := table.WriteUnits(table.Write{Before: balance, After: changed}, table.Indexes()...); got != 1 {
		t.Errorf("a balance's update costs %d units, want 1", got)
	}
	membership := with(balance, table.AttrRole, table.String("viewer"))
	changed = with(membership, table.AttrRole, table.String("owner"))
	if got := table.WriteUnits(table.Write{Before: membership, After: changed}, table.Indexes()...); got != 2 {
		t.Errorf("a change of role costs %d units, want 2", got)
	}
	named := 0
	for _, index := range table.Indexes() {
		named += len(index.Include)
	}
	if named > table.ProjectedAttributes {
		t.Errorf("%d attributes are projected by name, at most %d may be", named, table.ProjectedAttributes)
	}
}
