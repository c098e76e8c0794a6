package documents

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// provisioned returns template.yaml with the changes of the recipe for provisioned capacity in docs/capacity.md.
func provisioned(t *testing.T) (template, recipe string) {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ = strings.Cut(string(page), "### Provisioned capacity\n")
	template = string(text)
	rows := regexp.MustCompile("(?m)^\\| (each of the three )?`([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(recipe, -1)
	if len(rows) != 2 {
		t.Fatalf("the recipe has %d changes", len(rows))
	}
	for _, row := range rows {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(row[2]), "…", "[^}]*")
		found, want := regexp.MustCompile(pattern), 1
		if row[1] != "" {
			want = 3
		}
		if n := len(found.FindAllString(template, -1)); n != want {
			t.Errorf("template.yaml has %s %d times, not %d", row[2], n, want)
		}
		template = found.ReplaceAllString(template, row[3])
	}
	return template, recipe
}

// The recipe for provisioned capacity changes the table and each of its indexes, and scales each of them.
func TestProvisionedCapacity(t *testing.T) {
	text, recipe := provisioned(t)
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	properties := tree["Resources"].(map[string]any)["LedgerTable"].(map[string]any)["Properties"].(map[string]any)
	scaled := []string{"table"}
	provided := func(of map[string]any) {
		if of["ProvisionedThroughput"] == nil || of["OnDemandThroughput"] != nil {
			t.Errorf("%v has no provisioned capacity, or a maximum of requests", of["IndexName"])
		}
	}
	provided(properties)
	for _, index := range properties["GlobalSecondaryIndexes"].([]any) {
		provided(index.(map[string]any))
		scaled = append(scaled, "index "+index.(map[string]any)["IndexName"].(string))
	}
	loop := regexp.MustCompile(`for OF in (.*); do`).FindStringSubmatch(recipe)
	if properties["BillingMode"] != "PROVISIONED" || loop == nil {
		t.Fatalf("billing mode %v, loop %q", properties["BillingMode"], loop)
	}
	var named []string
	for _, m := range regexp.MustCompile(`"([^"]+)"|(\S+)`).FindAllStringSubmatch(loop[1], -1) {
		named = append(named, m[1]+m[2])
	}
	if !slices.Equal(named, scaled) {
		t.Errorf("the recipe scales %q, the table has %q", named, scaled)
	}
}
