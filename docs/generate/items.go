package main

import (
	"strings"

	"ledger.example/internal/store"
)

// itemTable shows every kind of item, from its declaration.
func itemTable() markdown {
	t := markdown{head: "item|is|`Type`|PK|SK|GSI1 `SK2`|GSI2 `PK2`|written by"}
	code := func(texts string) string { // each word of them as code
		words := strings.Fields(texts)
		for i, word := range words {
			words[i] = "`" + word + "`"
		}
		return strings.Join(words, ", ")
	}
	for _, p := range store.ItemTypes() {
		i := p.ItemType
		t.add(i.What, string(i.Class), code(i.Type), code(i.PK), code(i.SK), code(i.SK2), code(i.PK2), i.By)
	}
	return t
}
