package service

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// What Lambda, or an emulation of it, says of the store, under the SDK's names. They are read here and not by the SDK's
// config package, which also brings and sets up single sign-on, role assumption and the metadata of EC2: a fifth of the
// time from a function's start to its first invocation. Of the SDK's other variables none is read; to reach a FIPS or
// dual-stack endpoint, name it.
const (
	variableRegion        = "AWS_REGION"
	variableDefaultRegion = "AWS_DEFAULT_REGION" // unless variableRegion is set
	variableKeyID         = "AWS_ACCESS_KEY_ID"
	variableSecret        = "AWS_SECRET_ACCESS_KEY"
	variableSession       = "AWS_SESSION_TOKEN"
	variableEndpoint      = "AWS_ENDPOINT_URL_DYNAMODB" // empty: AWS's own
	variableAnyEndpoint   = "AWS_ENDPOINT_URL"          // unless variableEndpoint is set
)

// tableBytesLeast and tableBytesMost bound a table's name (AWS, "Naming rules" of DynamoDB).
const tableBytesLeast, tableBytesMost = 3, 255

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyz"
)

// validTable tells whether name can be a table's.
func validTable(name string) bool {
	return tableBytesLeast <= len(name) && len(name) <= tableBytesMost &&
		strings.Trim(strings.ToLower(name), letters+digits+"_.-") == ""
}

// storeConfig returns where the store is and how requests to it are signed. It tells fault of each variable that is
// missing or wrong.
func storeConfig(getenv func(string) string, fault func(variable, what string)) aws.Config {
	region := cmp.Or(getenv(variableRegion), getenv(variableDefaultRegion))
	switch {
	case region == "":
		fault(variableRegion, "is missing: where the table is")
	case strings.Trim(region, letters+digits+"-") != "":
		fault(variableRegion, "is not the name of a region")
	}
	id, secret := getenv(variableKeyID), getenv(variableSecret)
	if id == "" {
		fault(variableKeyID, "is missing: whose requests these are, as Lambda tells it")
	}
	if secret == "" {
		fault(variableSecret, "is missing: what they are signed with")
	}
	c := aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider(id, secret, getenv(variableSession))}
	name := variableEndpoint
	if getenv(name) == "" {
		name = variableAnyEndpoint
	}
	if endpoint := getenv(name); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			fault(name, "is not an http or https URL")
		}
		c.BaseEndpoint = &endpoint
	}
	return c
}
