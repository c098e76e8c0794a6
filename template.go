// Package template embeds template.yaml, the only definition of the stack and its
// table. An installed binary can therefore create the same table locally.
package template

import _ "embed"

// YAML is the SAM template. Don't change it.
//
//go:embed template.yaml
var YAML []byte
