package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// accepts tells whether CloudFormation would take a value for a parameter.
func accepts(t *testing.T, parameter map[string]any, value string) bool {
	t.Helper()
	if allowed, ok := parameter["AllowedValues"].([]any); ok {
		return slices.ContainsFunc(allowed, func(v any) bool { return fmt.Sprint(v) == value })
	}
	if parameter["Type"] == "Number" {
		n, err := strconv.ParseFloat(value, 64)
		least, ok := parameter["MinValue"].(int)
		most, ok2 := parameter["MaxValue"].(int)
		if !ok || !ok2 {
			t.Fatalf("a number without bounds: %v", parameter)
		}
		return err == nil && n >= float64(least) && n <= float64(most)
	}
	pattern, ok := parameter["AllowedPattern"].(string)
	if !ok || parameter["Type"] != "String" {
		t.Fatalf("anything would do for %v", parameter)
	}
	if most, ok := parameter["MaxLength"].(int); ok && utf8.RuneCountInString(value) > most {
		return false
	}
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(value)
}

// What a deployment cannot work with is refused before anything is made or changed.
func TestParametersOutOfRangeAreRefused(t *testing.T) {
	values := map[string]struct{ taken, refused []string }{
		"JwtIssuer": {[]string{"", "https://issuer.example.com", "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_a1"},
			[]string{"http://issuer.example.com", "issuer.example.com", "https://", "https://a b", "https://a?b=c"}},
		"JwtAudience": {[]string{"", "ledger", "ledger,https://ledger.example.com"}, []string{"a, b", ",", "a,", ",a", "a b", strings.Repeat("a", 1025)}},
		"CorsOrigins": {[]string{"", "https://app.example.com", "http://localhost:3000,https://app.example.com"},
			[]string{"*", "https://*", "app.example.com", "https://app.example.com/", "https://a, https://b", "https://a:123456"}},
		"DomainName":     {[]string{"", "ledger.example.com", "x1.example.co"}, []string{"ledger", "https://ledger.example.com", "Ledger.example.com", "-a.example.com", "a..b", "*.example.com"}},
		"CertificateArn": {[]string{"", "arn:aws:acm:eu-central-1:123456789012:certificate/0a1b-2c"}, []string{"0a1b-2c", "arn:aws:acm:eu-central-1:12:certificate/0a", "arn:aws:iam::123456789012:server-certificate/x"}},
		"HostedZoneId":   {[]string{"", "Z0123456789ABCDEFGHIJ"}, []string{"example.com", "/hostedzone/Z01", "z01"}},
		"ApiRateLimit":   {[]string{"1", "10000"}, []string{"0", "-1", "10001", "many", ""}},
		"ApiBurstLimit":  {[]string{"1", "5000"}, []string{"0", "5001", ""}},
		"MaxWriteUnits":  {[]string{"100", "40000"}, []string{"99", "0", "-1", "10000001", ""}},
		"MaxReadUnits":   {[]string{"100", "40000"}, []string{"99", "0", "-1", "10000001", ""}},

		"CommandConcurrency":   {[]string{"0", "1", "1000"}, []string{"-1", "10001", ""}},
		"QueryConcurrency":     {[]string{"0", "1", "1000"}, []string{"-1", "10001", ""}},
		"ProjectorConcurrency": {[]string{"0", "1", "1000"}, []string{"-1", "10001", ""}},
		"KmsKeyArn": {[]string{"", "arn:aws:kms:eu-central-1:123456789012:key/0a1b-2c", "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-0a"},
			[]string{"alias/aws/dynamodb", "arn:aws:kms:eu-central-1:123456789012:alias/x", "0a1b"}},
		"RecoveryDays":     {[]string{"1", "35"}, []string{"0", "36", ""}},
		"LogRetentionDays": {[]string{"1", "90", "3653"}, []string{"0", "2", "100", ""}},
		"AlarmEmail":       {[]string{"", "on-call@example.com"}, []string{"on-call", "a b@example.com", "a@b"}},
		"Tracing":          {[]string{"Active", "PassThrough"}, []string{"Disabled", "active", ""}},
		"Deployment":       {[]string{"AllAtOnce", "Canary10Percent5Minutes"}, []string{"Canary", "CodeDeployDefault.LambdaAllAtOnce", ""}},
		"Architecture":     {[]string{"arm64", "x86_64"}, []string{"amd64", "ARM64", ""}},
	}
	whole := readTemplate(t)
	groups := make(map[string]int)
	for _, group := range listOf(valueAt(whole, "Metadata", "AWS::CloudFormation::Interface", "ParameterGroups")) {
		for _, name := range listOf(valueAt(group.(map[string]any), "Parameters")) {
			groups[name.(string)]++
		}
	}
	parameters := whole.section("Parameters")
	for name, parameter := range parameters {
		tried, ok := values[name]
		if !ok {
			t.Errorf("%s isn't tried", name)
		}
		for _, v := range tried.taken {
			if !accepts(t, parameter, v) {
				t.Errorf("%s refuses %q", name, v)
			}
		}
		for _, v := range tried.refused {
			if accepts(t, parameter, v) {
				t.Errorf("%s takes %q", name, v)
			}
		}
		if parameter["AllowedValues"] == nil && parameter["ConstraintDescription"] == nil {
			t.Errorf("%s doesn't say what is refused", name)
		}
		if d, ok := parameter["Default"]; !ok || !accepts(t, parameter, fmt.Sprint(d)) {
			t.Errorf("%s has the default %v", name, d)
		}
		if parameter["Description"] == nil || groups[name] != 1 {
			t.Errorf("%s has the description %v, and is in %d groups", name, parameter["Description"], groups[name])
		}
	}
	for name := range groups {
		if parameters[name] == nil {
			t.Errorf("there is no parameter %s", name)
		}
	}
}

// What only makes sense together is refused apart.
func TestParametersAreRefusedApart(t *testing.T) {
	const (
		issuer, audience = "JwtIssuer", "JwtAudience"
		domain, cert     = "DomainName", "CertificateArn"
		zone             = "HostedZoneId"
	)
	whole := readTemplate(t)
	for _, c := range []struct {
		given   []string
		refused bool
	}{
		{nil, false},
		{[]string{issuer}, true}, {[]string{audience}, true}, {[]string{issuer, audience}, false},
		{[]string{domain}, true}, {[]string{cert}, true}, {[]string{domain, cert}, false},
		{[]string{zone}, true}, {[]string{domain, cert, zone}, false},
		{[]string{issuer, audience, domain, cert, zone}, false}, {[]string{issuer, domain, cert}, true},
	} {
		given := make(map[string]any)
		for _, name := range c.given {
			given[name] = "x"
		}
		e := whole.with(t, given)
		refused := false
		for _, rule := range whole.section("Rules") {
			if !e.truth(rule["RuleCondition"]) {
				continue
			}
			for _, assertion := range listOf(rule["Assertions"]) {
				refused = refused || !e.truth(valueAt(assertion.(map[string]any), "Assert"))
			}
		}
		if refused != c.refused {
			t.Errorf("%v is refused: %v", c.given, refused)
		}
	}
}

// samOptions are the options in samconfig.toml by their tables, such as prod.deploy.parameters.
func samOptions(t *testing.T) map[string]map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var (
		options = make(map[string]map[string][]string)
		table   string
		value   = regexp.MustCompile(`"([^"]*)"|\b(true|false|[0-9.]+)\b`)
		comment = regexp.MustCompile(`^([^"#]*(?:"[^"]*"[^"#]*)*)#.*$`)
		name    string
	)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), "$1"))
		if heading, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(line, ".parameters]") {
			table = strings.TrimSuffix(heading, "]")
			options[table] = make(map[string][]string)
			continue
		}
		rest := line
		if key, after, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, `"`) {
			name, rest = key, after
		}
		for _, v := range value.FindAllStringSubmatch(rest, -1) {
			if table != "" {
				options[table][name] = append(options[table][name], v[1]+v[2])
			}
		}
	}
	return options
}

// The environments differ in the parameters that they give; each gives good ones, and deploys what it has built.
func TestEnvironments(t *testing.T) {
	options := samOptions(t)
	parameters := readTemplate(t).section("Parameters")
	stacks := make(map[string]bool)
	for _, environment := range []string{"default", "dev", "prod"} {
		overridden := make(map[string]string)
		for _, given := range options[environment+".global.parameters"]["parameter_overrides"] {
			name, v, _ := strings.Cut(given, "=")
			if parameters[name] == nil || !accepts(t, parameters[name], v) {
				t.Errorf("%s gives %s", environment, given)
			}
			overridden[name] = v
		}
		want := map[string]string{"default": "x86_64", "dev": "arm64", "prod": "arm64"}[environment]
		if overridden["Architecture"] != want {
			t.Errorf("%s is for %q, want %s", environment, overridden["Architecture"], want)
		}
		if gradual := strings.HasPrefix(overridden["Deployment"], "Canary"); gradual != (environment == "prod") {
			t.Errorf("%s deploys by %q", environment, overridden["Deployment"])
		}
		build, deploy := options[environment+".build.parameters"], options[environment+".deploy.parameters"]
		folder := ".aws-sam/" + environment + "/build"
		if environment == "default" {
			if build["build_dir"] != nil || deploy["template_file"] != nil {
				t.Error("sam local looks into the default folder only")
			}
		} else if !slices.Equal(build["build_dir"], []string{folder}) || !slices.Equal(deploy["template_file"], []string{folder + "/template.yaml"}) {
			t.Errorf("%s builds into %q and deploys %q", environment, build["build_dir"], deploy["template_file"])
		}
		for option, want := range map[string]string{"cached": "true", "parallel": "true", "build_in_source": "true"} {
			if !slices.Equal(build[option], []string{want}) {
				t.Errorf("%s: %s is %q", environment, option, build[option])
			}
		}
		for option, want := range map[string]string{"capabilities": "CAPABILITY_IAM", "resolve_s3": "true", "fail_on_empty_changeset": "false"} {
			if !slices.Equal(deploy[option], []string{want}) {
				t.Errorf("%s: %s is %q", environment, option, deploy[option])
			}
		}
		if !slices.Contains(deploy["tags"], "environment="+environment) {
			t.Errorf("%s has the tags %q", environment, deploy["tags"])
		}
		if !slices.Equal(options[environment+".validate.parameters"]["lint"], []string{"true"}) {
			t.Errorf("%s isn't linted", environment)
		}
		stacks[strings.Join(options[environment+".global.parameters"]["stack_name"], "")] = true
	}
	if len(stacks) != 3 || stacks[""] {
		t.Errorf("stacks %v", stacks)
	}
	for _, command := range []string{"local_start_api", "local_invoke"} {
		local := options["default."+command+".parameters"]
		if !slices.Equal(local["env_vars"], []string{"functions/local.json"}) || !slices.Equal(local["add_host"], []string{"host.docker.internal:host-gateway"}) {
			t.Errorf("%s has %v", command, local)
		}
	}
}

// SAM passes on those variables only that the template declares, and says nothing of others.
func TestLocalVariablesAreDeclared(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot, "functions", "local.json"))
	if err != nil {
		t.Fatal(err)
	}
	var local struct{ Parameters map[string]string }
	if err := json.Unmarshal(text, &local); err != nil {
		t.Fatal(err)
	}
	declared := mapAt(readTemplate(t), "Globals", "Function", "Environment", "Variables")
	for name := range declared {
		if _, ok := local.Parameters[name]; !ok {
			t.Errorf("functions/local.json doesn't say what %s is", name)
		}
	}
	for name := range local.Parameters {
		if _, ok := declared[name]; !ok {
			t.Errorf("template.yaml doesn't declare %s", name)
		}
	}
}
