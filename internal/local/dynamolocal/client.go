package dynamolocal

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

const (
	// Region is used to sign requests to a local endpoint. With -sharedDb, DynamoDB Local accepts any region.
	Region = "us-east-1"
	// accessKey must have only letters and digits (AWS, "DynamoDB local usage notes"). DynamoDB Local does not check
	// signatures.
	accessKey = "local"

	// idleConnections is the maximum number of idle connections to the endpoint.
	idleConnections = 64
)

// Config returns the configuration of a client for a local endpoint. It ignores profiles and environment variables, so
// a client cannot reach an AWS account by mistake, and never sends an account's credentials.
func Config(endpoint string) aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, accessKey, ""),
	}
}

// DynamoDB returns a client for a local endpoint.
func DynamoDB(endpoint string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.NewFromConfig(withConnections(Config(endpoint)), optFns...)
}

// Streams returns a client for the streams of a local endpoint.
func Streams(endpoint string) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(withConnections(Config(endpoint)))
}

// withConnections configures connections to a server on this machine.
func withConnections(c aws.Config) aws.Config {
	c.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil
		t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConnections, idleConnections
	})
	return c
}
