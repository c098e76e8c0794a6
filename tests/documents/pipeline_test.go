package documents

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pipeline is the example of a workflow in docs/deployment.md, with the trust policy after it.
func pipeline(t *testing.T) (workflow, trust string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## A pipeline\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, workflow, _ = strings.Cut(section, "```yaml\n")
	workflow, rest, _ := strings.Cut(workflow, "```")
	for i, block := range strings.Split(rest, "```json\n")[1:] {
		policy, _, _ := strings.Cut(block, "```")
		if !json.Valid([]byte(policy)) {
			t.Errorf("policy %d is not JSON", i)
		}
		if i == 0 {
			trust = policy
		}
	}
	return workflow, trust
}

// The workflow parses, pins each action by commit, confirms nothing, and gives the template all parameters that prod
// has, and none that it does not have. Only its repository and environment get the role.
func TestPipeline(t *testing.T) {
	text, trust := pipeline(t)
	type step struct{ Uses, Run string }
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Environment string
			Steps       []step
		}
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"contents": "read", "id-token": "write"}; !maps.Equal(workflow.Permissions, want) {
		t.Errorf("permissions %v", workflow.Permissions)
	}
	var deploys []string
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			if s.Uses != "" && !regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
				t.Errorf("%s is not pinned by commit", s.Uses)
			}
			if strings.Contains(s.Run, "sam deploy") {
				deploys = append(deploys, s.Run)
			}
		}
		if !strings.Contains(trust, `:sub": "repo:example/ledger:environment:`+job.Environment+`"`) ||
			strings.Contains(trust, "*") || strings.Contains(trust, "Like") {
			t.Errorf("the trust policy is not limited to the environment %s:\n%s", job.Environment, trust)
		}
	}
	if len(deploys) != 1 {
		t.Fatalf("%d deployments", len(deploys))
	}
	for _, option := range []string{"--no-confirm-changeset", "--no-fail-on-empty-changeset", "--config-env prod"} {
		if !strings.Contains(deploys[0], option) {
			t.Errorf("sam deploy has no %s", option)
		}
	}
	parameter := regexp.MustCompile(`\b([A-Z]\w+)=\S`)
	names := func(text string) (all []string) {
		for _, m := range parameter.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	parameters := mapAt(written(t, "template.yaml"), "Parameters")
	given := names(deploys[0])
	for _, name := range given {
		if parameters[name] == nil {
			t.Errorf("the template has no parameter %s", name)
		}
	}
	config, err := os.ReadFile("../../samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	_, prod, _ := strings.Cut(string(config), "[prod.global.parameters]\n")
	prod, _, _ = strings.Cut(prod, "\n]")
	for _, name := range names(prod) {
		if !slices.Contains(given, name) {
			t.Errorf("the workflow drops %s, which samconfig.toml gives to prod", name)
		}
	}
}
