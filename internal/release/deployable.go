package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// samArchitectures are SAM's names of Go's architectures.
var samArchitectures = map[string]string{"amd64": "x86_64", "arm64": "arm64"}

// buildDeployable builds the functions for one of AWS's architectures, with templates that name them.
func (r *release) buildDeployable(ctx context.Context, p platform) error {
	sam := samArchitectures[p.machine]
	name := r.name("aws", sam)
	folder := filepath.Join(r.scratch, name)
	if err := r.copyDocuments(folder, append([]string{"watch.yaml"}, documents...)...); err != nil {
		return err
	}
	functions, err := r.writeTemplate(folder)
	if err != nil {
		return err
	}
	if err := r.writeConfig(folder, sam); err != nil {
		return err
	}
	var built []string
	for _, function := range functions {
		file := filepath.Join(folder, "functions", function, "bootstrap")
		// As the Makefile builds them.
		if err := r.goBuild(ctx, p, file, "./functions/"+function, "-tags", "lambda.norpc"); err != nil {
			return err
		}
		built = append(built, file)
	}
	if err := r.archive(folder); err != nil {
		return err
	}
	return r.writeSBOM(name, built)
}

// builtByMake is what a function of the template has that sam build builds, and its name.
var builtByMake = regexp.MustCompile(
	`(?m)^  (\w+)Function:\n(?:    .*\n)*?    Metadata: \{ BuildMethod: makefile \}\n    Properties:\n`)

// writeTemplate writes the template with the functions as they are in the folder, and returns their names. Nothing is
// left to build.
func (r *release) writeTemplate(folder string) (functions []string, _ error) {
	text, err := os.ReadFile(filepath.Join(r.source, "template.yaml"))
	if err != nil {
		return nil, err
	}
	template := builtByMake.ReplaceAllStringFunc(string(text), func(function string) string {
		name := strings.ToLower(builtByMake.FindStringSubmatch(function)[1])
		functions = append(functions, name)
		function = strings.Replace(function, "    Metadata: { BuildMethod: makefile }\n", "", 1)
		return function + "      CodeUri: functions/" + name + "/\n"
	})
	if found := strings.Count(string(text), "AWS::Serverless::Function\n"); found != len(functions) || found == 0 {
		return nil, fmt.Errorf("template.yaml has %d functions, and %d of them can be built", found, len(functions))
	}
	return functions, writeFile(filepath.Join(folder, "template.yaml"), template)
}

// builds are the lines of samconfig.toml that are for sam build, and the architectures of the environments.
var (
	builds        = regexp.MustCompile(`(?m)^\[\w+\.build\.parameters\]\n(?:.+\n)*\n|^template_file = .*\n`)
	architectures = regexp.MustCompile(`"Architecture=\w+"`)
)

// writeConfig writes samconfig.toml, which deploys the template of the folder.
func (r *release) writeConfig(folder, architecture string) error {
	text, err := os.ReadFile(filepath.Join(r.source, "samconfig.toml"))
	if err != nil {
		return err
	}
	config := builds.ReplaceAllString(string(text), "")
	config = architectures.ReplaceAllLiteralString(config, `"Architecture=`+architecture+`"`)
	return writeFile(filepath.Join(folder, "samconfig.toml"), config)
}
